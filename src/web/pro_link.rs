//! The professional of a mailed link. Reference 7.4.

use std::sync::Arc;

use crate::domain::directory::professionals::Pro;
use crate::domain::state::group_state::GroupState;
use crate::notify::links::{LoginLink, LoginLinkAction};
use crate::web::pages::Pages;

/// Returns the professional of a link with the state of the group; `None` for a forged link, and
/// for one that has ended.
pub(crate) fn find_pro(pages: &Pages, link: &LoginLink) -> Option<(Arc<GroupState>, Pro)> {
    let server = &pages.server;
    let published = server.engine.published();
    let directory = published.directory();
    let pro = directory.pros.get(&link.pro)?;
    let now = match link.action {
        LoginLinkAction::Admit => server.engine.clock().now(),
        LoginLinkAction::SetPassword => server.engine.steady_now(),
    };
    if !link.verify(pro, &server.link_secret(), now) {
        return None;
    }
    Some((published.group_state(link.group)?, Pro::clone(pro)))
}
