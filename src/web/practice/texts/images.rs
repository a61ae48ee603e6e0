//! The texts of the images of a group.

use crate::web::text_table::text_table;

text_table! {
    /// The texts of the images of a group in one language.
    ImagesTexts;

    about: "Ces images sont publiques : elles figurent sur les pages de réservation, le logo aussi dans les e-mails.",
        "These images are public: they stand on the booking pages, the logo in mails too.";
    hint: "Fichier PNG, JPEG ou WebP de 512 Ko au plus. Le lieu et l’heure de la prise de vue sont effacés.",
        "A PNG, JPEG or WebP file of at most 512 KB. Place and time of a photo are removed.";
    logo: "Logo", "Logo";
    cover: "Image de couverture", "Cover image";
    photo: "Photo : {name}", "Photo: {name}";
    shown: "Image actuelle : {slot}", "Present image: {slot}";
    file: "Fichier", "File";
    send: "Envoyer", "Send";
    remove: "Supprimer", "Delete";
    fault_none: "Choisissez un fichier.", "Choose a file.";
    fault_bytes: "Ce fichier dépasse 512 Ko. Réduisez-le d’abord.",
        "This file has more than 512 KB. Make it smaller first.";
    fault_text: "Les images SVG ne sont pas acceptées. Enregistrez-la en PNG.",
        "SVG images are not taken. Save it as PNG.";
    fault_format: "Ce fichier n’est ni PNG, ni JPEG, ni WebP.", "This file is no PNG, JPEG or WebP.";
    fault_pixels: "Cette image a {width} × {height} pixels, trop pour le serveur. Réduisez-la d’abord.",
        "This image has {width} × {height} pixels, too many for the server. Make it smaller first.";
    fault_broken: "Cette image ne peut pas être lue. Enregistrez-la de nouveau.",
        "This image cannot be read. Save it again.";
    fault_space: "Les images prennent déjà 8 Mo. Supprimez-en une d’abord.",
        "The images take 8 MB already. Delete one first.";
}
