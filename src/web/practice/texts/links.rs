//! The texts of the screen that makes links to the booking page.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the screen that makes links to the booking page, in one language.
    LinksTexts;

    about: "Choisissez ce que le lien décide d’avance, puis copiez-le dans votre site, un e-mail ou une affiche.",
        "Choose what the link decides in advance, and copy it into your site, a mail or a poster.";
    services: "Prestations", "Services";
    services_hint: "Dans l’ordre de la liste. Aucune : le visiteur choisit.",
        "In the order of the list. None: the visitor chooses.";
    calendar: "Agenda", "Calendar";
    any_calendar: "Au choix du visiteur", "The visitor chooses";
    freeze: "Le visiteur ne change pas ces choix", "The visitor does not change these choices";
    nologo: "Sans le logo", "Without the logo";
    nofooter: "Sans l’adresse en bas de page", "Without the address at the end of the page";
    websource: "Origine des rendez-vous", "Origin of the appointments";
    websource_hint: "Le rendez-vous la garde, par exemple « affiche gare ». Vide : « web ».",
        "The appointment keeps it, such as “station poster”. Empty: “web”.";
    make: "Faire le lien", "Make the link";
    link: "Le lien", "The link";
    open_link: "Ouvrir le lien", "Open the link";
    preview: "Aperçu", "Preview";
    preview_about: "La page de ce lien, avec tous ses pas. Rien n’y est réservé.",
        "The page of this link, with all its steps. Nothing is booked in it.";
    qr: "Code QR du lien", "QR code of the link";
    qr_title: "Code QR", "QR code";
    snippet: "Dans votre site", "In your site";
    snippet_about: "La réservation s’affiche à cette place de la page. Sans script, le lien reste.",
        "The booking page stands at this place of the page. Without scripts the link stays.";
    button: "Un bouton à la place", "A button in its place";
    origins_needed: "Ajoutez d’abord l’adresse de votre site aux sites qui montrent la réservation.",
        "First add the address of your site to the sites that show the booking page.";
    to_booking: "Réglages de la réservation", "Settings of booking";
    no_page: "L’établissement n’a pas de page de réservation.", "The shop has no booking page.";
    snippet_word: "Prendre rendez-vous", "Book an appointment";
}
