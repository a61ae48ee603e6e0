//! All texts of the pages for clients, in French and English.
//!
//! A text may hold places such as `{until}`, which [`fill`] replaces.

use crate::notify::language::Language;
use crate::web::text_table::text_table;

text_table! {
    /// The texts of the pages for clients in one language.
    Texts;

    // The frame of every page.
    fault_title: "Erreur : {title}", "Error: {title}";
    skip: "Aller au contenu", "Skip to content";
    steps: "Étapes", "Steps";
    step_service: "Prestation", "Service";
    step_time: "Horaire", "Time";
    step_you: "Coordonnées", "Your details";
    phone: "Téléphone", "Phone";
    call: "Appelez le {phone}.", "Call {phone}.";
    change: "modifier", "change";
    zone_notice: "Les heures sont celles de {zone}, où se trouve l’établissement.",
        "Times are in the time zone of {zone}, where the appointment takes place.";
    own_time: "Entre parenthèses : l’heure chez vous.", "In brackets: the time where you are.";
    page_about: "Prenez rendez-vous en ligne : {group}.", "Book an appointment online: {group}.";
    practical: "Informations pratiques", "Practical information";
    access: "Accès", "How to get there";
    to_bring: "À apporter", "Bring with you";
    open_map: "Voir la carte (OpenStreetMap)", "See the map (OpenStreetMap)";
    cover_alt: "Vue de {group}", "View of {group}";
    back_to_start: "Revenir au début", "Back to the start";
    sending: "Envoi…", "Sending…";

    // Step 1.
    choose_service: "Quel rendez-vous souhaitez-vous ?", "Which appointment do you need?";
    choose_services: "Quels rendez-vous souhaitez-vous ?", "Which appointments do you need?";
    up_to: "Vous pouvez en choisir jusqu’à {most}, à la suite.",
        "You can choose up to {most}, one after the other.";
    other_services: "Autres prestations", "Other services";
    go_on: "Continuer", "Continue";
    none_chosen: "Choisissez une prestation.", "Choose a service.";
    too_many_chosen: "Choisissez au plus {most} prestations.", "Choose at most {most} services.";
    unknown_service: "Cette prestation n’est plus proposée en ligne. Choisissez-en une autre.",
        "This service is no longer offered online. Choose another one.";
    all_services: "Toutes les prestations", "All services";
    link_gone: "Ce que le lien proposait n’est plus proposé ici. Choisissez dans ce qui reste.",
        "What the link offered is not offered here. Choose from the rest.";
    link_gone_frozen: "Ce que le lien proposait n’est plus proposé en ligne.",
        "What the link offered is not offered online.";
    closed: "Pas de rendez-vous en ligne pour le moment", "No online booking at the moment";
    choose_calendar: "Avec qui ?", "With whom?";
    with_whom: "Avec", "With";
    no_preference: "Sans préférence", "No preference";
    find_person: "Chercher une personne", "Find a person";
    find_service: "Chercher une prestation", "Find a service";
    find: "Chercher", "Find";
    one_found: "1 résultat", "1 result";
    many_found: "{count} résultats", "{count} results";
    none_found: "Aucun résultat : changez ou effacez la recherche.",
        "No result: change or clear the search.";

    // Step 2.
    choose_time: "Choisissez un horaire", "Choose a time";
    morning: "Matin", "Morning";
    afternoon: "Après-midi", "Afternoon";
    evening: "Soir", "Evening";
    one_time: "1 horaire, à {first}", "1 time, at {first}";
    many_times: "{count} horaires, dès {first}", "{count} times, from {first}";
    previous_week: "Semaine précédente", "Previous week";
    next_week: "Semaine suivante", "Next week";
    week_of: "Semaine du {day}", "Week of {day}";
    empty_week: "Aucun horaire libre cette semaine.", "No free time this week.";
    next_free: "Prochain horaire libre : {when}", "Next free time: {when}";
    first_free: "Premier horaire libre : {when}", "First free time: {when}";
    nothing_free: "Aucun horaire libre", "No free time";
    nothing_until: "Aucun horaire n’est libre jusqu’au {until}, dernier jour ouvert à la réservation.",
        "No time is free until {until}, the last day that is open for booking.";
    month_view: "Choisir une date", "Choose a date";
    previous_month: "Mois précédent", "Previous month";
    next_month: "Mois suivant", "Next month";
    free_times: "{count} horaires libres", "{count} free times";
    one_free_time: "1 horaire libre", "1 free time";
    no_times: "complet", "nothing free";
    present_time: "(votre horaire actuel)", "(your present time)";

    // Step 3.
    your_details: "Vos coordonnées", "Your details";
    required_note: "Les champs marqués * sont obligatoires.", "Fields marked * are required.";
    lastname: "Nom", "Last name";
    firstname: "Prénom", "First name";
    email: "Adresse e-mail", "E-mail address";
    prefilled: "Rempli par le site dont vous venez.", "Filled in by the site you come from.";
    email_hint: "Pour la confirmation et les rappels.", "For the confirmation and reminders.";
    firstphone: "Téléphone", "Phone";
    secondphone: "Autre téléphone", "Other phone";
    birthdate: "Date de naissance", "Date of birth";
    day: "Jour", "Day";
    month: "Mois", "Month";
    year: "Année", "Year";
    comments: "Message pour l’établissement", "Message for the practice";
    for_relative: "Ce rendez-vous est pour un proche", "This appointment is for another person";
    relative_name: "Nom et prénom du proche", "Name of that person";
    relative_birthdate: "Date de naissance du proche", "Date of birth of that person";
    relative_comment: "Pour un proche : {name}", "For a relative: {name}";
    consent: "En réservant, vous acceptez que {group} utilise ces données pour gérer ce rendez-vous.",
        "By booking, you agree that {group} uses these details to manage this appointment.";
    privacy: "Protection de vos données", "How your data is used";
    book: "Confirmer le rendez-vous", "Confirm the appointment";
    send_code: "Recevoir mon code", "Send me a code";
    code_mail_hint: "Nous y envoyons un code pour vérifier l’adresse, puis la confirmation.",
        "A code is sent there to check the address, and then the confirmation.";
    code_sms_hint: "Nous y envoyons un code par SMS pour vérifier le numéro.",
        "A code is sent there by text message to check the number.";
    code_title: "Entrez votre code", "Enter your code";
    code_mailed: "Un code à six chiffres vient d’être envoyé à {to}.",
        "A code of six digits was sent to {to}.";
    code_texted: "Un code à six chiffres vient d’être envoyé par SMS au {to}.",
        "A code of six digits was sent by text message to {to}.";
    code_held: "L’horaire vous est réservé jusqu’à {until}.", "The time is held for you until {until}.";
    hold_ends: "L’horaire ne vous est plus réservé que pour deux minutes au plus.",
        "The time is held for you for at most two more minutes.";
    hold_can_last: "Vous pouvez le garder une fois de plus, ci-dessous.",
        "You can keep it once more, below.";
    hold_longer: "Garder l’horaire 15 min de plus", "Hold the time for 15 more minutes";
    code: "Code à six chiffres", "Code of six digits";
    code_again: "Recevoir un autre code", "Send another code";
    code_edit: "Modifier mes coordonnées", "Change my details";
    nothing_chosen: "—", "—";

    // Faults and refusals.
    one_fault: "Un champ est à corriger", "One field needs your attention";
    some_faults: "{count} champs sont à corriger", "{count} fields need your attention";
    name_missing: "Indiquez votre nom.", "Enter your name.";
    required: "Ce champ est obligatoire.", "This field is required.";
    bad_email: "Indiquez une adresse e-mail complète, comme nom@example.org.",
        "Enter a complete e-mail address, such as name@example.org.";
    bad_phone: "Indiquez un numéro qui reçoit des SMS.",
        "Enter a number that receives text messages.";
    code_missing: "Indiquez les six chiffres que vous avez reçus.", "Enter the six digits that you got.";
    code_wrong: "Ce code est faux. Essais restants : {left}.", "This code is wrong. Tries left: {left}.";
    codes_used: "Cinq codes faux ont été donnés, et l’horaire n’est plus réservé. Envoyez de nouveau le formulaire pour recevoir un autre code.",
        "Five wrong codes were given, and the time is no longer held. Send the form again to get another code.";
    code_expired: "Le code a expiré, et l’horaire n’est plus réservé. Envoyez de nouveau le formulaire pour recevoir un autre code.",
        "The code has expired, and the time is no longer held. Send the form again to get another code.";
    bad_date: "Indiquez une date qui existe.", "Enter a date that exists.";
    bad_number: "Indiquez un nombre.", "Enter a number.";
    bad_value: "Ce texte est trop long ou contient un caractère interdit.",
        "This text is too long or contains a character that is not allowed.";
    taken_title: "Cet horaire n’est plus libre", "This time is no longer free";
    taken: "L’horaire du {when} vient d’être pris ou n’est plus proposé. Vos coordonnées sont conservées.",
        "The time on {when} has just been taken or is no longer offered. Your details are kept.";
    nearest: "Les horaires libres les plus proches :", "The nearest free times:";
    all_times: "Voir tous les horaires", "See all times";
    refused_title: "Ce rendez-vous n’a pas été pris", "This appointment was not booked";
    too_soon: "Il est trop tard pour réserver cet horaire. Le premier horaire possible est le {earliest}.",
        "It is too late to book this time. The earliest time is {earliest}.";
    too_far: "Cet horaire est trop éloigné. La réservation est ouverte jusqu’au {latest}.",
        "This time is too far ahead. Booking is open until {latest}.";
    same_time: "Vous avez déjà un rendez-vous à ce moment-là. Choisissez un autre horaire.",
        "You already have an appointment at that time. Choose another time.";
    too_close: "Vos rendez-vous doivent être espacés d’au moins {gap}. Choisissez un autre horaire.",
        "Your appointments must be at least {gap} apart. Choose another time.";
    too_many: "Vous pouvez avoir au plus {most} rendez-vous à venir. Annulez-en un d’abord.",
        "You can have at most {most} upcoming appointments. Cancel one first.";
    has_account: "Cette adresse est celle d’un client qui a un compte. Connectez-vous, ou appelez.",
        "This address belongs to a client who has an account. Log in, or call.";
    unknown_email: "Seuls les clients déjà connus peuvent réserver ici, et cette adresse e-mail est inconnue. Appelez pour être enregistré.",
        "Only known clients can book here, and this e-mail address is unknown. Call to be registered.";
    not_allowed: "Les rendez-vous en ligne sont réservés aux clients qui ont un compte. Appelez pour prendre rendez-vous.",
        "Online booking is for clients who have an account. Call to book.";
    gone: "Ce rendez-vous n’existe plus.", "This appointment no longer exists.";
    other_fault: "Cette demande n’est pas valable. Revenez au début et réessayez.",
        "This request is not valid. Go back to the start and try again.";
    too_many_tries_title: "Trop de demandes", "Too many requests";
    no_code_title: "Réservation impossible en ligne", "Online booking is not possible";
    busy_title: "Un instant", "One moment";
    busy: "Le serveur est occupé et rien n’a été enregistré. Réessayez dans une minute.",
        "The server is busy and nothing was saved. Try again in a minute.";
    failed: "Une erreur s’est produite et rien n’a été enregistré. Réessayez, ou appelez.",
        "Something went wrong and nothing was saved. Try again, or call.";
    preview: "Aperçu : rien n’est réservé ici.", "Preview: nothing is booked here.";
    preview_end_title: "Fin de l’aperçu", "End of the preview";
    preview_end: "Ici le rendez-vous serait pris. L’aperçu n’a rien enregistré.",
        "The appointment would be booked now. The preview saved nothing.";
    foreign_title: "Formulaire refusé", "Form refused";
    foreign: "Ce formulaire vient d’un autre site. Ouvrez la page de réservation et recommencez.",
        "This form comes from another site. Open the booking page and start again.";
    not_found_title: "Page introuvable", "Page not found";
    not_found: "Cette adresse ne mène à aucune page de réservation.",
        "There is no booking page at this address.";

    // Done, and the page behind the link in a mail.
    done_title: "Rendez-vous confirmé", "Appointment confirmed";
    done_title_many: "Rendez-vous confirmés", "Appointments confirmed";
    done_mail: "Une confirmation vous est envoyée par e-mail.", "A confirmation is on its way by e-mail.";
    done_before: "Ce formulaire avait déjà servi : il n’a rien réservé de plus.",
        "This form had been used before: it booked nothing more.";
    your_appointment: "Votre rendez-vous", "Your appointment";
    when: "Quand", "When";
    what: "Quoi", "What";
    whom: "Avec", "With";
    place: "Où", "Where";
    end: "Jusqu’à", "Until";
    price: "Prix", "Price";
    bring: "À apporter", "Bring";
    show_map: "Voir sur une carte", "Show on a map";
    change_until: "Vous pouvez le déplacer ou l’annuler en ligne jusqu’au {until}.",
        "You can move or cancel it online until {until}.";
    change_by_phone: "Pour le déplacer ou l’annuler, appelez l’établissement.",
        "To move or cancel it, call.";
    add_to_calendar: "Ajouter à mon agenda (.ics)", "Add to my calendar (.ics)";
    add_to_google: "Ajouter à Google Agenda", "Add to Google Calendar";
    add_to_outlook: "Ajouter à Outlook", "Add to Outlook";
    book_again: "Reprendre ce rendez-vous", "Book this appointment again";
    to_move: "Déplacer", "Move";
    to_cancel: "Annuler", "Cancel";
    book_another: "Prendre un autre rendez-vous", "Book another appointment";
    cancel: "Annuler ce rendez-vous", "Cancel this appointment";
    cancel_sure: "Voulez-vous vraiment annuler ce rendez-vous ?",
        "Do you really want to cancel this appointment?";
    cancel_yes: "Oui, annuler le rendez-vous", "Yes, cancel the appointment";
    until: "Possible en ligne jusqu’au {until}.", "Possible online until {until}.";
    move_it: "Déplacer ce rendez-vous", "Move this appointment";
    move_title: "Choisissez un autre horaire", "Choose another time";
    move_question: "Déplacer votre rendez-vous ?", "Move your appointment?";
    present: "Votre rendez-vous actuel", "Your present appointment";
    new_time: "Nouvel horaire", "New time";
    move_yes: "Oui, déplacer le rendez-vous", "Yes, move the appointment";
    moved: "Rendez-vous déplacé", "Appointment moved";
    is_moved: "Votre rendez-vous a un nouvel horaire.", "Your appointment has a new time.";
    not_moved: "Votre rendez-vous n’a pas été déplacé", "Your appointment was not moved";
    taken_move: "L’horaire du {when} vient d’être pris ou n’est plus proposé. Votre rendez-vous reste comme il est.",
        "The time on {when} has just been taken or is no longer offered. Your appointment stays as it is.";
    no_moves: "Appelez pour déplacer ce rendez-vous.", "Call to move this appointment.";
    back_to_appointment: "Revenir au rendez-vous", "Back to the appointment";
    cancelled: "Rendez-vous annulé", "Appointment cancelled";
    is_cancelled: "Votre rendez-vous est annulé.", "Your appointment is cancelled.";
    cancelled_many: "Rendez-vous annulés", "Appointments cancelled";
    are_cancelled: "Vos rendez-vous sont annulés.", "Your appointments are cancelled.";
    too_late: "Trop tard pour le changer en ligne", "Too late to change it online";
    too_late_why: "Il ne pouvait être déplacé ou annulé en ligne que jusqu’au {until}.",
        "It could be moved or cancelled online until {until} only.";
    past: "Ce rendez-vous est passé.", "This appointment is in the past.";

    password: "Mot de passe", "Password";

    // The pages of links that end reminders or belong to an account.
    reminders_title: "Rappels par e-mail", "E-mail reminders";
    end_reminders: "Ne plus recevoir de rappels de {group} par e-mail ?",
        "Receive no more e-mail reminders from {group}?";
    end_reminders_button: "Ne plus recevoir de rappels", "No more reminders";
    reminders_ended_title: "C’est noté", "Done";
    reminders_ended: "Vous ne recevrez plus de rappels par e-mail.",
        "You will receive no more reminders by e-mail.";
    account_title: "Votre compte", "Your account";
    choose_password: "Choisissez un mot de passe.", "Choose a password.";
    bad_password: "Ce mot de passe ne convient pas : il faut au moins 10 caractères, et pas un mot de passe courant.",
        "That password will not do: it needs at least 10 characters, and must not be a common one.";
    email_title: "Votre nouvelle adresse", "Your new address";
    confirm_email: "Confirmez que cette adresse est la vôtre.", "Confirm that this address is yours.";
    confirm_button: "Confirmer", "Confirm";
    account_confirmed_title: "Votre compte est confirmé", "Your account is confirmed";
    account_confirmed: "Vous pouvez vous connecter.", "You can log in now.";
    login_title: "Vous connecter", "Log in";
    ask_login: "Est-ce avec ce navigateur que vous voulez vous connecter ?",
        "Is this the browser that you want to log in with?";
    login_done: "Connectez-vous maintenant comme d’habitude : les essais des autres ne vous font plus attendre.",
        "Log in now as usual: the attempts of others no longer make you wait.";
    email_confirmed_title: "Votre adresse est confirmée", "Your address is confirmed";
    email_confirmed: "C’est désormais celle de votre compte.",
        "It is that of your account from now on.";
    dead_link_title: "Ce lien ne mène plus nulle part", "This link leads nowhere any more";
    dead_link: "Il est trop ancien, a déjà servi, ou n’est pas complet.",
        "It is too old, has been used, or is not complete.";
    busy_link: "Le serveur est occupé : essayez encore dans une minute.",
        "The server is busy: try again in a minute.";

    // The list of groups.
    list_title: "Prendre rendez-vous", "Book an appointment";
}

/// Returns the texts in a language.
pub(crate) const fn texts(language: Language) -> &'static Texts {
    Texts::in_language(language)
}

/// Returns a text with a value in its place `{name}`.
pub(crate) fn fill(text: &str, name: &str, value: &str) -> String {
    text.replacen(&format!("{{{name}}}"), value, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_not_searched_for_places() {
        assert_eq!(fill("{group}!", "group", "{group}"), "{group}!");
    }
}
