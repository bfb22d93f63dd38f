# SPDX-License-Identifier: Apache-2.0
"""What a frontend of the STDIO API sees of its session's steps."""


def events(agent, type):
    agent.ask("session.status")
    return [m["payload"] for m in agent.seen if m["type"] == type]


def steps(agent):
    return agent.ask("undo.history")["payload"]["steps"]


def redoable(agent):
    history = agent.ask("undo.history")["payload"]
    return history["redoable"], history["redoable_by_directory"]


def write(path, text):
    with open(path, "w") as file:
        file.write(text)
