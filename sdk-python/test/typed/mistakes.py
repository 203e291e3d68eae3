"""Calls whose types a checker must know. A line that ends in "mistake" must be an error, and no other line."""

from godwit import AsyncGodwit, Godwit, response_of, types

godwit = Godwit()

message: types.Message = godwit.messages.send(recipient="+14155550123", channel="sms", body="Hello", idempotency_key="", timeout=1)
godwit.messages.create(recipient="+14155550123", channel="sms", body="Hello")
godwit.messages.send(recipient="+14155550123", channel="fax", body="Hello")  # mistake
godwit.messages.send(channel="sms", body="Hello")  # mistake
godwit.messages.send(recipient="+14155550123", channel="sms", text="Hello")  # mistake
godwit.messages.get(message.id, idempotency_key="")  # mistake
godwit.messages.send(recipient="+1", channel="whatsapp", content={"type": "location", "latitude": 47.37, "longitude": 8.54})
godwit.messages.send(recipient="+1", channel="whatsapp", content={"type": "location", "latitude": 47.37})  # mistake
godwit.messages.send(recipient="+1", channel="whatsapp", content={"type": "place", "latitude": 47.37})  # mistake
if message.content is not None and message.content.type == "media":
    caption: str | None = message.content.caption
    message.content.latitude  # mistake
file: types.Media = godwit.media.upload(b"text", kind="document")
godwit.media.upload(b"text", kind="text")  # mistake
replayed: bool = response_of(message).is_replayed
message.no_such_field  # mistake
text: str = message["id"]

for each in godwit.messages.list(limit=2, status="failed"):
    code: str = each.error.code  # mistake
    if each.error is not None:
        code = each.error.code
first: types.Message = godwit.messages.list().data[0]
godwit.messages.list(limit="2")  # mistake


async def main() -> None:
    client = AsyncGodwit()
    page = await client.messages.list(limit=2)
    second: types.Message = page.data[0]
    sent: types.Message = client.messages.send(recipient="+14155550123", channel="sms", body="Hello")  # mistake
    async for event in client.events.stream(type="message.*"):
        identifier: str = event.id
        if event.type == "message.received":
            sender: str | None = event.data.message.sender
            event.data.template  # mistake
        elif event.type == "template.approved" or event.type == "template.rejected":
            name: str = event.data.template.name
        elif event.type == "message.deliverd":  # mistake
            pass
