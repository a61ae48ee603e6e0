// The TypeScript client of openapi-generator searches, books, moves, cancels, and reads an error.
import { AppointmentsApi, AvailabletimeslotsApi, Configuration, ErrorsFromJSON, ResponseError } from "./fetch/index.js";
import { check, first, last } from "./checks.js";

const basePath = process.argv[2] ?? "";
const configuration = new Configuration({ basePath, headers: { "X-Api-Key": "demo-key-town-practice", Prefer: "handling=strict" } });
const appointments = new AppointmentsApi(configuration);
const groupId = 1;
const fiche = { lastname: "Curie", firstname: "Pierre", email: "pierre@example.org" };
const wish = (date: string) => ({ appointment: { date, interventionIds: [1], fiche } });

const slots = new AvailabletimeslotsApi(configuration);
const search = { groupId, interventionIds: [1] };
const free = (await slots.searchSlots(search)).availabletimeslots;
const bookAppointmentRequest = wish(first(free).start);
const booked = first((await appointments.bookAppointment({ groupId, bookAppointmentRequest })).records);
const one = { groupId, id: booked.id, key: booked.key };
const others = await slots.searchSlots({ ...search, appointmentId: booked.id, key: booked.key });
const later = last(others.availabletimeslots).start;
const moveAppointmentRequest = { appointment: { date: later } };
check((await appointments.moveAppointment({ ...one, moveAppointmentRequest })).start === later, "it is moved");
check((await appointments.cancelAppointment(one)).deleted, "it is cancelled");
try {
  await appointments.bookAppointment({ groupId, bookAppointmentRequest: wish("2020-01-06 09:00:00") });
  check(false, "a past start is refused");
} catch (refused) {
  if (!(refused instanceof ResponseError)) {
    throw refused;
  }
  const error = first(ErrorsFromJSON(await refused.response.json()).errors);
  check(refused.response.status === 400 && error.field === "date", "the field is named");
  console.log(`openapi-generator, TypeScript: booked, moved and cancelled; error ${error.code}: ${error.message}`);
}
