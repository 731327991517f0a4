"""An assistant made by hand that notes what it still has to do."""

import turnlog

with turnlog.session("errands"):
    with turnlog.turn(input="Post the letter and call the bank.") as turn:
        letter = turnlog.pending("post the letter")
        turnlog.pending("call the bank")
        turn.answer("I will.")
    with turnlog.turn(input="Did you post it?") as turn:
        letter.resolve()
        turn.answer("Yes.")
