"""Three users of one web server, whose conversations OpenAI keeps: two by the previous response, one by a conversation."""

from openai import OpenAI

USERS = {
    "alice": ("Hello, I need help with my bike.", "The chain.", "It is off."),
    "bob": ("Hello, I need help with my boat.", "The sail.", "It is torn."),
}

client = OpenAI()
latest = {}
for step in range(3):
    for user, lines in USERS.items():
        response = client.responses.create(
            model="gpt-5",
            instructions=f"You repair things. This is question {step + 1}.",
            input=lines[step],
            previous_response_id=latest.get(user),
        )
        latest[user] = response.id
        print(user, response.output_text)
    response = client.responses.create(
        model="gpt-5", input=("Hello, I need help with my kite.", "The tail.", "It is gone.")[step], conversation="conv_carol"
    )
    print("carol", response.output_text)
