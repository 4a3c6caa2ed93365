//! LSP frames on standard input and output.
//!
//! Uses its own threads, because those of `lsp-server` end at the first frame without a valid message, and hand a message over
//! only when it is requested, which hides whether more messages are waiting.

use std::io::{self, BufRead, ErrorKind, Read, Write, stdin, stdout};
use std::thread::{JoinHandle, spawn};

use lsp_server::{Connection, ErrorCode, Message};
use serde_json::json;

/// The threads that read and write.
pub(super) struct Threads {
    reader: JoinHandle<io::Result<()>>,
    writer: JoinHandle<io::Result<()>>,
}

impl Threads {
    /// Waits until the last message is written. Drop the connection first.
    pub(super) fn join(self) -> io::Result<()> {
        for thread in [self.reader, self.writer] {
            thread
                .join()
                .unwrap_or_else(|_| Err(io::Error::other("a thread panicked")))?;
        }
        Ok(())
    }
}

/// Connects with the editor that started this process.
pub(super) fn connect() -> (Connection, Threads) {
    let (ours, editors) = Connection::memory();
    let Connection { sender, receiver } = editors;
    let reader = spawn(move || {
        let mut input = stdin().lock();
        while let Some(frame) = read_frame(&mut input)? {
            let message = match serde_json::from_slice(&frame) {
                Ok(message) => message,
                Err(error) => {
                    refuse(&error)?;
                    continue;
                }
            };
            let is_exit = matches!(&message, Message::Notification(n) if n.method == "exit");
            if sender.send(message).is_err() || is_exit {
                break;
            }
        }
        Ok(())
    });
    let writer = spawn(move || {
        receiver
            .into_iter()
            .try_for_each(|message| message.write(&mut stdout().lock()))
    });
    (ours, Threads { reader, writer })
}

/// Responds to a frame without a valid message. The request id is unknown.
fn refuse(error: &serde_json::Error) -> io::Result<()> {
    let code = match error.classify() {
        serde_json::error::Category::Data => ErrorCode::InvalidRequest,
        _ => ErrorCode::ParseError,
    };
    let answer = json!({
        "jsonrpc": "2.0",
        "id": null,
        "error": { "code": code as i32, "message": format!("this is not a message: {error}") },
    });
    let text = answer.to_string();
    let mut output = stdout().lock();
    write!(output, "Content-Length: {}\r\n\r\n{text}", text.len())?;
    output.flush()
}

/// Reads the next frame. None at the end of the input. Fails at an invalid header, because the start of the next frame is then unknown.
fn read_frame(input: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let invalid = |message: &str| io::Error::new(ErrorKind::InvalidData, message);
    let mut length = None;
    loop {
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| invalid("a header line must be a name, a colon and a value"))?;
        if name.eq_ignore_ascii_case("Content-Length") {
            let read = value.trim().parse::<u64>();
            length = Some(read.map_err(|_| invalid("Content-Length must be a number"))?);
        }
    }
    let length = length.ok_or_else(|| invalid("the header has no Content-Length"))?;
    // Not allocated in advance, because the length is not trusted.
    let mut frame = Vec::new();
    if input.take(length).read_to_end(&mut frame)? as u64 == length {
        Ok(Some(frame))
    } else {
        Err(ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_frames_are_read() {
        let mut input: &[u8] =
            b"Content-Length: 2\r\n\r\n{}content-length:3\r\nContent-Type: x\r\n\r\n\xff{}";
        let mut next = || read_frame(&mut input).expect("is a frame");
        assert_eq!(next().as_deref(), Some(&b"{}"[..]));
        assert_eq!(next().as_deref(), Some(&b"\xff{}"[..]));
        assert_eq!(next(), None);
    }

    #[test]
    fn invalid_headers_are_errors() {
        for mut input in [
            &b"Content-Length: two\r\n\r\n{}"[..],
            b"{}\r\n\r\n",
            b"Content-Type: x\r\n\r\n{}",
            b"Content-Length: 18446744073709551615\r\n\r\n{}",
        ] {
            assert!(read_frame(&mut input).is_err());
        }
    }
}
