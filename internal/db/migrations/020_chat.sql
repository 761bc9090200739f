-- What was posted in chats, so that a message is edited when what it is about is over, and a reply is known to be an answer.
-- Of a post that was sent and not stored, because the server was killed between the two, the buttons work all the same.
CREATE TABLE chat_posts (
    bot     TEXT    NOT NULL, -- KIND:ID
    chat    TEXT    NOT NULL,
    message TEXT    NOT NULL, -- as the service names it
    about   TEXT    NOT NULL, -- a request, an entry of the merge queue (m-N), or stop
    at      INTEGER NOT NULL,
    open    INTEGER NOT NULL DEFAULT 1 CHECK (open IN (0, 1)), -- it has buttons
    PRIMARY KEY (bot, chat, message)
) STRICT, WITHOUT ROWID;

-- How far a bot has read what people write, and told what runs report.
CREATE TABLE chat_cursors (
    bot   TEXT    NOT NULL,
    name  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    PRIMARY KEY (bot, name)
) STRICT, WITHOUT ROWID;
