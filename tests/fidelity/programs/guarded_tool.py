"""An agent made by hand, all of it told to turnlog: a named session, turns, and a tool that may fail once."""

import turnlog

weather = iter(["storm", "calm", "calm"])


@turnlog.tool(retries=1)
def launch(boat):
    if next(weather) == "storm":
        raise RuntimeError("too much wind")
    return f"{boat} is afloat"


with turnlog.session("harbour"):
    with turnlog.turn(input="Launch the Swan.") as turn:
        turn.answer(launch("Swan").value)
    with turnlog.turn(input="Launch the Swan.") as turn:
        turn.answer(launch("Swan").value)
