"""A support inbox: people write, and agents answer in the same conversation."""

import os
import sqlite3
from contextlib import closing

from flask import Flask, jsonify, request
from godwit import ApiError, Godwit, WebhookError, verify_webhook

SECRET = os.environ["WEBHOOK_SECRET"]
DATABASE = os.environ.get("DATABASE", "inbox.db")

app = Flask(__name__)
godwit = Godwit()  # reads GODWIT_KEY and GODWIT_URL


def query(sql, *values):
    """Runs one statement in its own transaction, and returns its rows."""
    with closing(sqlite3.connect(DATABASE)) as connection, connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(sql, values)]


query(
    """create table if not exists messages (
         id text primary key, person text not null, number text not null, channel text not null,
         direction text not null, body text not null, created_at text not null)"""
)


def store(message, person, number):
    # An event can arrive twice. The id of the message makes the second one harmless.
    query(
        "insert or ignore into messages values (?, ?, ?, ?, ?, ?, ?)",
        message.id, person, number, message.channel, message.direction, message.body, message.created_at,
    )


@app.post("/hooks")
def receive():
    try:
        event = verify_webhook(request.get_data(), request.headers, SECRET)
    except WebhookError as error:
        return error.reason, 400
    if event.type == "message.received":
        message = event.data.message
        store(message, person=message.sender, number=message.recipient)
    return "", 204


@app.get("/conversations")
def conversations():
    return jsonify(query("select person, max(created_at) as last_at, count(*) as messages from messages group by person"))


@app.get("/conversations/<person>")
def conversation(person):
    return jsonify(query("select direction, body, created_at from messages where person = ? order by created_at, id", person))


@app.post("/conversations/<person>/replies")
def reply(person):
    received = query(
        "select number, channel from messages where person = ? and direction = 'inbound' order by created_at desc limit 1", person
    )
    if not received:
        return {"error": "no_conversation"}, 404
    number, channel = received[0]["number"], received[0]["channel"]
    try:
        # The page of the agent creates the id, a UUID, so that a second click sends no second answer.
        message = godwit.messages.send(
            recipient=person, sender=number, channel=channel, body=request.json["body"], idempotency_key=request.json["id"]
        )
    except ApiError as error:
        if error.status != 422:
            raise
        # recipient_opted_out, or service_window_closed on WhatsApp
        return {"error": error.code, "detail": error.detail}, 409
    store(message, person=person, number=number)
    return {"id": message.id, "status": message.status}, 201
