//! The texts about messages to clients.

use crate::web::text_table::text_table;

text_table! {
    /// The texts about messages to clients in one language.
    MessageTexts;

    confirmation: "Confirmation", "Confirmation";
    change: "Déplacement", "Change";
    cancellation: "Annulation", "Cancellation";
    mail_reminder: "Rappel par e-mail", "Reminder by mail";
    sms_reminder: "Rappel par SMS", "Reminder by text message";
    other: "Autre message", "Other message";

    planned: "prévu le {when}", "planned for {when}";
    sending: "en cours d’envoi", "being sent";
    sent: "envoyé le {when}", "sent on {when}";
    was_sent: "envoyé", "sent";
    kept: "pas envoyé : le serveur n’a pas de passerelle pour ces messages",
        "not sent: the server has no gateway for such messages";
    failed: "pas envoyé : refusé par la passerelle ({reason})",
        "not sent: the gateway refused it ({reason})";
    missed: "pas envoyé à temps", "not sent in time";
    retried: "nouvel essai prévu le {when} ({reason})", "next try on {when} ({reason})";

    is_cancelled: "pas envoyé : le rendez-vous est annulé", "not sent: the appointment is cancelled";
    is_moved: "pas envoyé : le rendez-vous ou l’heure du rappel a changé",
        "not sent: the appointment, or the time of its reminder, was moved";
    is_restored: "pas envoyé : le rendez-vous a été rétabli", "not sent: the appointment was restored";
    is_unwanted: "pas envoyé : le client ou l’établissement n’en veut pas",
        "not sent: the client or the practice has switched such messages off";
    has_no_recipient: "pas envoyé : le client n’a ni adresse ni numéro, ou sa fiche est supprimée",
        "not sent: the client has no address or number, or is deleted";
    has_begun: "pas envoyé : le rendez-vous avait commencé", "not sent: the appointment had begun";
    has_expired: "pas envoyé : le lien avait expiré", "not sent: the link had expired";
    too_many: "pas envoyé : trop de messages à cette adresse en 24 heures",
        "not sent: too many messages to this recipient within 24 hours";
    given_away: "pas envoyé : le rendez-vous est passé à un autre client",
        "not sent: the appointment was given to another client";
    unconfirmed: "pas envoyé : le rendez-vous n’a jamais été confirmé par e-mail",
        "not sent: the appointment was never confirmed by mail";
    is_replaced: "pas envoyé : un message plus récent dit ce qu’il en est",
        "not sent: a later message says how things stand";
    is_unchanged: "pas envoyé : le rendez-vous est resté tel que le client le connaît",
        "not sent: the appointment is as the client knows it";

    none_cancelled: "pas prévu : le rendez-vous est annulé", "not planned: the appointment is cancelled";
    none_withheld: "pas prévu : réservé en ligne au-delà du nombre de messages permis",
        "not planned: booked online beyond the number of messages that is allowed";
    none_deleted: "pas prévu : la fiche du client est supprimée",
        "not planned: the record of the client is deleted";
    none_declined: "pas prévu : le client n’en veut pas", "not planned: the client accepts none";
    none_no_mail: "pas prévu : le client n’a pas d’adresse e-mail",
        "not planned: the client has no e-mail address";
    none_no_phone: "pas prévu : le client n’a pas de numéro de téléphone",
        "not planned: the client has no telephone number";
    none_off: "pas prévu : l’établissement n’en envoie pas", "not planned: the practice sends none";
    none_not_asked: "pas prévu : pas demandé pour ce rendez-vous",
        "not planned: not asked for with this appointment";
    none_country: "pas prévu : le pays du numéro n’est pas permis",
        "not planned: the country of the number is not allowed";
    none_before: "pas prévu : il aurait été dû avant la dernière modification",
        "not planned: it would have been due before the last change";
    given_up: "abandonné", "given up";
}
