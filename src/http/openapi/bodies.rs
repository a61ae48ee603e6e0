//! Schemas of request bodies that no field table describes, and the request body of each endpoint.
//! Reference 1.2.

use utoipa::openapi::request_body::{RequestBody, RequestBodyBuilder};
use utoipa::openapi::{Content, RefOr, Required, Schema};

use crate::http::endpoint::{Body, Endpoint, Shape};
use crate::http::openapi::records::new_record;
use crate::http::openapi::texts::operation_text;
use crate::http::permissions::Resource;
use crate::wire::schema::{described, id, named, object, text};

/// The request body of an endpoint. On older paths, the apikey and the group may stand beside the
/// object.
pub(crate) fn request_body(endpoint: &Endpoint, body: &Body, is_legacy: bool) -> RequestBody {
    let resource = endpoint.right.map(|right| right.resource);
    if body.is_image {
        return image_body(body, endpoint);
    }
    let mut json = schema(&body.json, endpoint);
    if body.is_wrapped {
        let name = resource.map(|resource| resource.name().to_lowercase()).unwrap_or_default();
        let mut wrapped = object().property(&name, described(json, "The object."));
        // A vevent may come without its wrapper.
        if resource != Some(Resource::Vevent) {
            wrapped = wrapped.required(&name);
        }
        if is_legacy {
            let apikey = "The key, unless the query has one.";
            let group = "The group of the new object, unless the query has one.";
            wrapped = wrapped
                .property("apikey", described(text(), apikey))
                .property("group_id", described(id(), group));
        }
        json = wrapped.into();
    }
    let mut content = Content::new(Some(json));
    content.example = operation_text(endpoint.operation_id).example.body.clone().map(Into::into);
    let required = if body.is_required { Required::True } else { Required::False };
    RequestBodyBuilder::new().required(Some(required)).content("application/json", content).build()
}

/// The body with the file of an image, as a form. The document does not name the file itself as a
/// body: a generator takes the first type of two, and its code for bytes may not compile.
fn image_body(body: &Body, endpoint: &Endpoint) -> RequestBody {
    let file = described(schema(&body.json, endpoint), "A PNG, JPEG or WebP image.");
    let form = object().property("file", file).required("file");
    RequestBodyBuilder::new()
        .required(Some(Required::True))
        .content("multipart/form-data", Content::new(Some(RefOr::from(form))))
        .build()
}

/// The schema of a shape. A resource without records has an object without properties.
pub(crate) fn schema(shape: &Shape, endpoint: &Endpoint) -> RefOr<Schema> {
    let component = |suffix: &str| match &endpoint.right {
        Some(right) => named(&format!("{}{suffix}", right.resource.name())),
        None => object().into(),
    };
    match (shape, &endpoint.right) {
        (Shape::Record, _) => component(""),
        (Shape::RecordList, _) => component("List"),
        (Shape::ChangedFields, _) => component("Fields"),
        (Shape::NewRecord, Some(right)) => new_record(right.resource).into(),
        (Shape::NewRecord, None) => object().into(),
        (Shape::Inline(make), _) => make(),
        (Shape::Named(name, _), _) => named(name),
    }
}
