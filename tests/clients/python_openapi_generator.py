"""The Python client of openapi-generator searches, books, moves, cancels, and reads an error.

The only argument is the address of the server.
"""

import json
import sys

import openapi_client as api

GROUP = 1
configuration = api.Configuration(host=sys.argv[1], api_key={"apikey": "demo-key-town-practice"})
client = api.ApiClient(configuration, header_name="Prefer", header_value="handling=strict")
slots = api.AvailabletimeslotsApi(client)
appointments = api.AppointmentsApi(client)


def wish(date):
    fiche = api.BookingFiche(lastname="Curie", firstname="Eve", email="eve@example.org")
    booking = api.Booking(date=date, intervention_ids=[1], fiche=fiche)
    return api.BookAppointmentRequest(appointment=booking)


start = slots.search_slots(GROUP, [1], first=True).first_slot
booked = appointments.book_appointment(GROUP, wish(start)).records[0]
assert booked.start == start
others = slots.search_slots(GROUP, [1], appointment_id=booked.id, key=booked.key).availabletimeslots
later = others[-1].start
move = api.MoveAppointmentRequest(appointment=api.MoveAppointmentRequestAppointment(var_date=later))
assert appointments.move_appointment(GROUP, booked.id, move, key=booked.key).start == later
assert appointments.cancel_appointment(GROUP, booked.id, key=booked.key).deleted
try:
    appointments.book_appointment(GROUP, wish("2020-01-06 09:00:00"))
    raise AssertionError("a past start is refused")
except api.ApiException as refused:
    error = refused.data.errors[0]
    assert (refused.status, error.var_field) == (400, "date"), json.loads(refused.body)
    print(f"openapi-generator, Python: booked, moved and cancelled; error {error.code}: {error.message}")
