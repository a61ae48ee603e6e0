// The client of orval searches, books, moves, cancels, and reads an error.
import { bookAppointment, cancelAppointment, moveAppointment, searchSlots } from "./orval/slotbook.js";
import { check, first, last } from "./checks.js";

// The generated functions ask their own origin, as a page would.
const plain = globalThis.fetch;
globalThis.fetch = (path, options) => plain(`${process.argv[2]}${path}`, options);
const key = { headers: { "X-Api-Key": "demo-key-town-practice", Prefer: "handling=strict" } };
const fiche = { lastname: "Curie", firstname: "Jean", email: "jean@example.org" };
const wish = (date: string) => ({ appointment: { date, intervention_ids: [1], fiche } });

const search = { "intervention_ids[]": [1] };
const free = await searchSlots(1, search, key);
check(free.status === 200, "there are slots");
const made = await bookAppointment(1, wish(first(free.data.availabletimeslots).start), undefined, key);
check(made.status === 201, "it is booked");
const booked = first(made.data.records);
const secret = { key: booked.key };
const others = await searchSlots(1, { ...search, ...secret, appointment_id: booked.id }, key);
check(others.status === 200, "there are other slots");
const later = last(others.data.availabletimeslots).start;
const moved = await moveAppointment(1, booked.id, { appointment: { date: later } }, secret, key);
check(moved.status === 200 && moved.data.start === later, "it is moved");
const cancelled = await cancelAppointment(1, booked.id, {}, secret, key);
check(cancelled.status === 200 && cancelled.data.deleted, "it is cancelled");
const refused = await bookAppointment(1, wish("2020-01-06 09:00:00"), undefined, key);
check(refused.status === 400, "a past start is refused");
const error = first(refused.data.errors);
check(error.field === "date", "the field is named");
console.log(`orval: booked, moved and cancelled; error ${error.code}: ${error.message}`);
