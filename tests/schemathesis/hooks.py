"""What the server takes although the document does not allow it, for schemathesis.

The document has one type for each value, for generated programs. Clients of old send others, which stay right: they
are put into the document here, so that they are tried and none counts as wrong. A case that is wrong only by a part
that is not read is accepted, so no such case is made.
"""

import schemathesis

# They count only beside repeat_freq, and not beside rrule.
OLDER_FIELDS = {"repeat_intervall", "repeat_count", "repeat_byday", "repeat_until"}
WHOLE = "^([+-]?[0-9]+)?$"
# An id that must be there.
ID = "^0*[1-9][0-9]{0,14}$"
# Single spaces may stand between two digits.
DIGITS = "([0-9]([ \\u00a0\\u2009\\u202f]?[0-9])*)"
DECIMAL = f"^([+-]?({DIGITS}([.]{DIGITS}?)?|[.]{DIGITS})([eE][+-]?[0-9]+)?)?$"
# The patterns of texts that have no form of their own, as far as they begin.
PLAIN = ("^[^\\x00", "[^\\s]")


@schemathesis.hook
def before_load_schema(context, document):
    opened = set()
    for item in document["paths"].values():
        for operation in item.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                widen(content["schema"], document, opened)
            for parameter in operation.get("parameters", []):
                if parameter.get("name") == "results":
                    parameter["schema"] = {"type": ["integer", "string"], "minimum": 1, "pattern": "^(all)?$"}
                elif parameter.get("schema") == {"type": "boolean"}:
                    parameter["schema"] = {"type": ["boolean", "integer"], "minimum": 0, "maximum": 1}
    login = document["paths"]["/api/v1/sessions/login"]["post"]
    login["requestBody"]["required"] = False
    add_flat_login(login)


def add_flat_login(login):
    """A login may also be flat, and a form."""
    flat = {parameter["name"]: parameter["schema"] for parameter in login["parameters"] if "name" in parameter}
    content = login["requestBody"]["content"]
    person = {"type": ["string", "number", "null"]}
    content["application/json"]["schema"]["properties"] |= {name: person for name in flat}
    text = {"type": "object", "properties": flat | {"apikey": {"type": "string"}}}
    content["application/x-www-form-urlencoded"] = {"schema": text}


def widen(schema, document, opened):
    """Adds the older forms of the values of a body."""
    reference = schema.get("$ref")
    if reference in opened:
        return
    if reference is not None:
        opened.add(reference)
        widen(document["components"]["schemas"][reference.rsplit("/", 1)[1]], document, opened)
    for name, value in schema.get("properties", {}).items():
        if name in ("sendmail", "apikey"):
            schema["properties"][name] = {}
        else:
            widen(value, document, opened)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    optional = "null" in kinds
    more = {}
    if "integer" in kinds:
        kinds, more = [*kinds, "string"], {"pattern": WHOLE if optional or schema["minimum"] < 1 else ID}
    elif "number" in kinds:
        kinds, more = [*kinds, "string"], {"pattern": DECIMAL}
    elif "boolean" in kinds:
        values = "^(true|false|1|0)?$" if optional else "^(true|false|1|0)$"
        kinds, more = [*kinds, "integer", "string"], {"minimum": 0, "maximum": 1, "pattern": values}
    elif "array" in kinds:
        kinds = [*kinds, "string", "integer"]
        widen(schema["items"], document, opened)
    elif "enum" in schema and optional:
        more = {"enum": [*schema["enum"], ""]}
    elif "string" in kinds and "maxLength" in schema and schema.get("pattern", PLAIN[0]).startswith(PLAIN):
        kinds = [*kinds, "number"]
    schema.update(more)
    if "type" in schema:
        schema["type"] = kinds


@schemathesis.hook
def filter_case(context, case):
    if case.meta is None or not case.meta.generation.mode.is_negative:
        return True
    if case.operation.path.endswith("/batch") and has_wrong_row(case.body):
        return False
    return not (has_empty_parameter(case.query) or has_unread_fields(case.body))


def has_empty_parameter(query):
    """Whether a parameter is empty, which counts as none. Clients would be worse off with it in each type."""
    return any(value in (None, "", [], [""], {}) for value in (query or {}).values())


def has_wrong_row(body):
    """Whether a row of a batch names no write. It is refused in its own place, and the batch is answered with 200."""
    rows = body.get("requests") if isinstance(body, dict) else None
    if not isinstance(rows, list):
        return False
    return any(isinstance(row, dict) and not ("method" in row and "path" in row) for row in rows)


def has_unread_fields(body):
    """Whether an event has fields of a repetition that it does not have."""
    event = body.get("vevent") if isinstance(body, dict) else None
    if not isinstance(event, dict) or OLDER_FIELDS.isdisjoint(event):
        return False
    return bool(event.get("rrule")) or not event.get("repeat_freq")
