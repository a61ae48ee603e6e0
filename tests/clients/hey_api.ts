// The client of hey-api searches, books, moves, cancels, and reads an error.
import { client } from "./hey/client.gen.js";
import { bookAppointment, cancelAppointment, moveAppointment, searchSlots } from "./hey/sdk.gen.js";
import { check, first, last } from "./checks.js";

client.setConfig({ baseUrl: process.argv[2] ?? "", headers: { "X-Api-Key": "demo-key-town-practice", Prefer: "handling=strict" } });
const path = { group_id: 1 };
const fiche = { lastname: "Curie", firstname: "Paul", email: "paul@example.org" };
const wish = (date: string) => ({ appointment: { date, intervention_ids: [1], fiche } });

const query = { "intervention_ids[]": [1] };
const free = await searchSlots({ path, query, throwOnError: true });
const start = first(free.data.availabletimeslots).start;
const made = await bookAppointment({ path, body: wish(start), throwOnError: true });
check("records" in made.data, "no code is asked for");
const booked = first(made.data.records);
const one = { path: { ...path, id: booked.id }, query: { key: booked.key }, throwOnError: true as const };
const own = { ...query, appointment_id: booked.id, key: booked.key };
const others = await searchSlots({ path, query: own, throwOnError: true });
const later = last(others.data.availabletimeslots).start;
const moved = await moveAppointment({ ...one, body: { appointment: { date: later } } });
check(moved.data.start === later, "it is moved");
check((await cancelAppointment(one)).data.deleted, "it is cancelled");
const refused = await bookAppointment({ path, body: wish("2020-01-06 09:00:00") });
check(refused.error !== undefined, "a past start is refused");
const error = first(refused.error.errors);
check(refused.response?.status === 400 && error.field === "date", "the field is named");
console.log(`hey-api: booked, moved and cancelled; error ${error.code}: ${error.message}`);
