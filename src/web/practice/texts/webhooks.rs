//! The texts of the webhooks of a group.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the webhooks of a group in one language.
    WebhooksTexts;

    about: "Un webhook transmet chaque changement à un autre programme : ce qui a changé et quand, jamais une personne.",
        "A webhook tells another program of each change: what has changed and when, never a person.";
    none: "Aucun webhook pour le moment.", "No webhook yet.";
    new: "Nouveau webhook", "New webhook";
    url: "Adresse du destinataire", "Address of the receiver";
    url_hint: "Une adresse https sur internet, comme https://exemple.fr/changements.",
        "An https address on the internet, such as https://example.org/changes.";
    objects: "Changements transmis", "Changes that it gets";
    objects_hint: "Rien de coché : tous.", "Nothing ticked: all of them.";
    make: "Créer le webhook", "Make the webhook";
    open: "Ouvrir", "Open";
    title: "Webhook n° {id}", "Webhook no. {id}";
    is_on: "En marche", "On";
    by_hand: "Arrêté depuis le {when}", "Off since {when}";
    failed: "Arrêté depuis le {when} : trois jours sans réponse", "Off since {when}: three days without an answer";
    gone: "Arrêté depuis le {when} : le destinataire ne veut plus de changements (410)",
        "Off since {when}: the receiver wants no more changes (410)";
    failing: "Échecs de suite : {count} ; prochain essai le {when}", "Failures in a row: {count}; next try {when}";
    save: "Enregistrer", "Save";
    saved: "C’est enregistré.", "Saved.";
    turn_on: "Mettre en marche", "Turn on";
    turn_off: "Arrêter", "Turn off";
    test: "Envoyer un essai", "Send a test";
    test_taken: "L’essai est reçu : réponse {status}.", "The test was taken: answer {status}.";
    test_refused: "Le destinataire a répondu {status} à l’essai.", "The receiver answered the test with {status}.";
    test_failed: "L’essai n’est pas arrivé : {why}.", "The test did not arrive: {why}.";
    busy: "Trop d’essais sont en cours. Recommencez dans un moment.",
        "Too many tests are under way. Try again in a moment.";
    secret: "Secret", "Secret";
    secret_about: "Il signe chaque envoi. Un nouveau secret vaut tout de suite ; l’ancien vaut encore un jour.",
        "It signs each delivery. A new one counts at once; the one before signs for a day more.";
    rotate: "Créer un nouveau secret", "Make another secret";
    former: "L’ancien secret vaut jusqu’au {when}.", "The secret before signs until {when}.";
    end_former: "Mettre fin à l’ancien secret", "End the secret before";
    made_title: "Secret du webhook", "Secret of the webhook";
    made: "Copiez ce secret maintenant : il ne sera plus affiché. Votre destinataire vérifie les signatures avec lui.",
        "Copy this secret now: it is not shown again. Your receiver checks signatures with it.";
    noted: "Je l’ai copié", "I have copied it";
    answers: "Dernières réponses", "Last answers";
    no_answers: "Aucun envoi pour le moment.", "Nothing was sent yet.";
    when: "Quand", "When";
    answer: "Réponse", "Answer";
    duration: "Durée", "Duration";
    milliseconds: "{count} ms", "{count} ms";
    unresolved: "nom inconnu", "unknown name";
    address_refused: "adresse interne refusée", "inner address refused";
    unreachable: "injoignable", "not reachable";
    tls: "certificat refusé", "certificate refused";
    timed_out: "pas de réponse en 10 secondes", "no answer in 10 seconds";
    broken: "réponse incompréhensible", "no answer of HTTP";
    remove: "Supprimer ce webhook", "Remove this webhook";
    removed: "Le webhook est supprimé.", "The webhook is removed.";
    again: "Reprendre depuis le début", "Send all again";
    again_about: "Transmet encore une fois tous les changements qui sont conservés.",
        "Sends all changes that are kept once more.";
    back: "Tous les webhooks", "All webhooks";
    too_many: "Il y a déjà 10 webhooks. Supprimez-en un d’abord.",
        "There are 10 webhooks already. Remove one first.";
    wrong_url: "Donnez une adresse https sur internet, sans utilisateur et sans #, de 1024 caractères au plus.",
        "Give an https address on the internet, without a user and without #, of at most 1,024 characters.";
}
