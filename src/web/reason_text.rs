//! Texts that say why a page takes no booking, in French and English.

use crate::web::text_table::text_table;

text_table! {
    /// The reasons why a page takes no booking, in one language.
    Reasons;

    // The first step.
    suspended: "Cet établissement ne prend pas de rendez-vous en ligne pour le moment.",
        "This practice takes no online bookings at the moment.";
    accounts_only: "Les rendez-vous en ligne sont réservés aux clients qui ont un compte.",
        "Online booking is for clients who have an account.";
    no_calendar: "Aucun agenda n’est ouvert à la réservation en ligne.",
        "No calendar is open for online booking.";
    no_service: "Aucune prestation n’est proposée en ligne pour le moment.",
        "No service is offered online at the moment.";
    no_mail: "Chaque rendez-vous est confirmé par un code reçu par e-mail, et aucun e-mail ne peut être envoyé d’ici.",
        "Each booking is confirmed by a code sent by e-mail, and no e-mail can be sent from here.";
    no_sms: "Chaque rendez-vous est confirmé par un code reçu par SMS, et aucun SMS ne peut être envoyé d’ici.",
        "Each booking is confirmed by a code sent by text message, and none can be sent from here.";
    known_only: "Seuls les clients que l’établissement connaît peuvent réserver ici, avec leur adresse e-mail.",
        "Only clients whom the practice knows can book here, with their e-mail address.";
    not_offered: "Aucun agenda ne propose cette prestation pour le moment.",
        "No calendar offers this service at the moment.";
    not_offered_together: "Aucun agenda ne propose ces prestations l’une après l’autre.",
        "No calendar offers these services one after the other.";
    not_offered_with: "Ce rendez-vous n’est pas proposé avec {calendar} pour le moment.",
        "This appointment is not offered with {calendar} at the moment.";

    // Limits on the public.
    retry_from: "Trop de demandes ont été faites, et celle-ci n’a rien enregistré. Réessayez à partir du {when}.",
        "Too many requests were made, and this one saved nothing. Try again from {when} on.";
    code_from: "Aucun code ne peut être envoyé pour le moment, et rien n’a été enregistré. Réessayez à partir du {when}.",
        "No code can be sent at the moment, and nothing was saved. Try again from {when} on.";
    code_never: "Aucun code ne peut être envoyé d’ici, et rien n’a été enregistré.",
        "No code can be sent from here, and nothing was saved.";
    still_good: "Le dernier code reçu reste valable.", "The last code that you got is still good.";
    code_asked: "Indiquez une adresse e-mail : un code y est envoyé pour confirmer ce rendez-vous.",
        "Enter an e-mail address: a code is sent there to confirm this appointment.";

    // The contact that the group needs.
    either_hint: "Pour la confirmation et les rappels. Une adresse e-mail ou un téléphone est nécessaire.",
        "For the confirmation and reminders. An e-mail address or a phone number is needed.";
    email_needed: "Indiquez une adresse e-mail, pour que l’établissement puisse vous joindre.",
        "Enter an e-mail address, so that the practice can reach you.";
    phone_needed: "Indiquez un numéro de téléphone, pour que l’établissement puisse vous joindre.",
        "Enter a phone number, so that the practice can reach you.";
    either_needed: "Indiquez une adresse e-mail ou un numéro de téléphone, pour que l’établissement puisse vous joindre.",
        "Enter an e-mail address or a phone number, so that the practice can reach you.";
}
