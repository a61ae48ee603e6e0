// The types that openapi-typescript generates, under `tsc --strict`, against a demonstration server. It searches, books,
// lists, moves, cancels, creates and changes every resource. The only argument is the address of the server.
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const baseUrl = process.argv[2] ?? "";
const apikey = "demo-key-town-practice";
const group = { group_id: 1 };
let calls = 0;

/** A client that sends the key, and credentials if there are any. */
function connect(credentials?: string) {
  const client = createClient<paths>({ baseUrl });
  client.use({
    onRequest({ request }) {
      request.headers.set("X-Api-Key", apikey);
      request.headers.set("Prefer", "handling=strict");
      if (credentials !== undefined) {
        request.headers.set("Authorization", `Basic ${btoa(credentials)}`);
      }
      return request;
    },
  });
  return client;
}

const application = connect();
const pro = connect("anna@example.org:demo-password");

/** The data of a success. */
async function ok<T>(pending: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  const { data, error, response } = await pending;
  if (data === undefined) {
    throw new Error(`${response.status} ${response.url}: ${JSON.stringify(error)}`);
  }
  calls += 1;
  return data;
}

function check(holds: boolean, what: string): void {
  if (!holds) {
    throw new Error(what);
  }
}

const one = (id: number) => ({ params: { path: { group_id: 1, id } } });
const G = "/api/v1/groups/{group_id}";

async function catalogue(): Promise<void> {
  const params = { path: group };
  const calendar = await ok(pro.POST(`${G}/calendars`, { params, body: { calendar: { name: "Room 9", mintime_rdv: 90 } } }));
  const moved = await ok(pro.PUT(`${G}/calendars/{id}`, { ...one(calendar.id), body: { calendar: { city: "Rennes" } } }));
  check(moved.mintime_rdv === 90 && moved.city === "Rennes", "a change leaves other fields");
  const calendars = await ok(pro.GET(`${G}/calendars`, { params: { path: group, query: { results: 1000 } } }));
  check(calendars.records.some((record) => record.id === calendar.id), "the calendar is listed");
  await ok(pro.GET(`${G}/calendars/{id}`, one(calendar.id)));
  await ok(pro.DELETE(`${G}/calendars/{id}`, one(calendar.id)));

  const set = await ok(pro.POST(`${G}/calendarsets`, { params, body: { calendarset: { name: "Upstairs" } } }));
  await ok(pro.PUT(`${G}/calendarsets/{id}`, { ...one(set.id), body: { calendarset: { city: "Rennes" } } }));
  await ok(pro.GET(`${G}/calendarsets/{id}/interventions`, one(1)));
  await ok(pro.DELETE(`${G}/calendarsets/{id}`, one(set.id)));

  const intervention = await ok(
    pro.POST(`${G}/interventions`, { params, body: { intervention: { name: "Test", length: 25 } } }),
  );
  const priced = await ok(
    pro.PUT(`${G}/interventions/{id}`, { ...one(intervention.id), body: { intervention: { price: 1200 } } }),
  );
  check(priced.length === 25 && priced.price === 1200, "a change leaves the length");
  await ok(pro.DELETE(`${G}/interventions/{id}`, one(intervention.id)));

  const kind = await ok(pro.POST(`${G}/interventionsets`, { params, body: { interventionset: { name: "Tests" } } }));
  await ok(pro.PUT(`${G}/interventionsets/{id}`, { ...one(kind.id), body: { interventionset: { description: "All." } } }));
  await ok(pro.DELETE(`${G}/interventionsets/{id}`, one(kind.id)));

  const custom = await ok(
    pro.POST(`${G}/customfields`, { params, body: { customfield: { model: "Vevent", name: "num1" } } }),
  );
  await ok(pro.PUT(`${G}/customfields/{id}`, { ...one(custom.id), body: { customfield: { pro_label: "Height in cm" } } }));
  await ok(pro.DELETE(`${G}/customfields/{id}`, one(custom.id)));

  const settings = await ok(pro.GET(G, { params }));
  const changed = await ok(pro.PUT(G, { params, body: { group: { fax: "01 99 00 12 40" } } }));
  check(changed.mailreminder === settings.mailreminder, "a change of the fax leaves the reminder");
}

async function people(): Promise<void> {
  const params = { path: group };
  const fiche = await ok(
    pro.POST(`${G}/fiches`, { params, body: { fiche: { lastname: "Curie", rappel_sms: false, str0: "MGEN" } } }),
  );
  const called = await ok(
    pro.PUT(`${G}/fiches/{id}`, { ...one(fiche.id), body: { fiche: { firstphone: "06 39 98 11 22" } } }),
  );
  check(!called.rappel_sms && called.lastname === "Curie" && called.str0 === "MGEN", "a change leaves other fields");
  const query = { search: "curie", sort: "lastname" as const, results: 5 };
  const found = await ok(pro.GET(`${G}/fiches`, { params: { path: group, query } }));
  check(found.totalRecords > 0, "the client is found");
  const pros = await ok(pro.GET(`${G}/pros`, { params }));
  check(pros.records.length > 0, "there are professionals");

  const lunch = { calendar_id: 1, start: "2031-01-06 12:30:00", end: "2031-01-06 13:30:00", text: "Lunch" };
  const vevent = await ok(pro.POST(`${G}/vevents`, { params, body: { vevent: lunch } }));
  const long = await ok(pro.PUT(`${G}/vevents/{id}`, { ...one(vevent.id), body: { vevent: { text: "Long lunch" } } }));
  check(long.end === lunch.end, "a change leaves the end");
  await ok(pro.DELETE(`${G}/vevents/{id}`, one(vevent.id)));
}

async function booking(): Promise<void> {
  const search = { "intervention_ids[]": [1], first: true };
  const slots = await ok(application.GET(`${G}/availabletimeslots`, { params: { path: group, query: search } }));
  const date = slots.firstSlot;
  if (date === null) {
    throw new Error("there is no free slot");
  }
  const fiche = { lastname: "Curie", firstname: "Irène", email: "irene@example.org" };
  const wanted: components["schemas"]["Booking"] = { date, intervention_ids: [1], fiche };
  const params = { path: group, header: { "Idempotency-Key": "typescript-1" } };
  const booked = await ok(application.POST(`${G}/appointments`, { params, body: { appointment: wanted } }));
  // Where the shop asks for a code, the answer is a token instead.
  const record = "records" in booked ? booked.records[0] : undefined;
  if (record === undefined) {
    throw new Error("a booking has a record");
  }
  const query = { "intervention_ids[]": [1], start: date };
  const why = await ok(application.GET(`${G}/availabletimeslots/explanation`, { params: { path: group, query } }));
  const reasons = why.calendars.find((calendar) => calendar.calendar_id === record.calendar_id)?.reasons ?? [];
  check(reasons.some((reason) => reason.rule === "taken"), "the start is taken");
  const listed = await ok(pro.GET(`${G}/appointments`, { params: { path: group, query: { results: 1000 } } }));
  check(listed.records.some((other) => other.id === record.id), "the appointment is listed");
  const secret = { params: { path: { group_id: 1, id: record.id }, query: { key: record.key } } };
  const own = { "intervention_ids[]": [1], appointment_id: record.id, key: record.key };
  const others = await ok(application.GET(`${G}/availabletimeslots`, { params: { path: group, query: own } }));
  const later = others.availabletimeslots.at(-1)?.start ?? "";
  const moved = await ok(application.PUT(`${G}/appointments/{id}`, { ...secret, body: { appointment: { date: later } } }));
  check(moved.start === later, "the appointment is moved");
  const cancelled = await ok(application.DELETE(`${G}/appointments/{id}`, secret));
  check(cancelled.deleted, "the appointment is cancelled");
  const late = { ...wanted, date: "2020-01-06 09:00:00" };
  const refused = await application.POST(`${G}/appointments`, { params: { path: group }, body: { appointment: late } });
  const errors = refused.error && "errors" in refused.error ? refused.error.errors : [];
  const [error] = errors;
  check(refused.response.status === 400 && error?.field === "date", "a past start is refused");
  check(error?.code !== undefined && error.message !== "", "the error has a code and a message");
}

await catalogue();
await people();
await booking();
console.log(`the generated TypeScript client made ${calls} successful calls`);
