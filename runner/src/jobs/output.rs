//! Collects the output of a snippet for the event log: joined to pieces of about a tenth of a second,
//! truncated after a limit, and only counted beyond that.

use hipward_protocol::{EventBody, LogStream};

/// Bytes that are stored in the event log.
const KEPT: usize = 64 * 1024;
/// Bytes after which the job is stopped.
pub(super) const MOST: u64 = 16 * 1024 * 1024;

/// Collects the output of one job.
#[derive(Debug, Default)]
pub(super) struct Output {
    written: u64,
    kept: usize,
    truncated: bool,
    ready: Vec<EventBody>,
    /// Per stream: bytes that are not in an event yet, and the start of a character whose rest has not
    /// arrived yet.
    pending: [Vec<u8>; 2],
}

impl Output {
    /// Adds output. Returns false once it is more than a job may write.
    pub(super) fn push(&mut self, stream: LogStream, bytes: &[u8]) -> bool {
        self.written += bytes.len() as u64;
        if self.kept < KEPT {
            let room = KEPT - self.kept;
            let taken = &bytes[..bytes.len().min(room)];
            self.kept += taken.len();
            // Keeps the order of the streams as far as it is known.
            self.flush_stream(other(stream), false);
            self.pending[slot(stream)].extend_from_slice(taken);
        }
        if self.kept == KEPT && self.written > KEPT as u64 && !self.truncated {
            self.truncated = true;
            self.flush_stream(LogStream::Stdout, true);
            self.flush_stream(LogStream::Stderr, true);
            self.ready.push(EventBody::Log {
                stream: LogStream::Runner,
                text: format!(
                    "Output truncated: only the first {} KiB are stored.\n",
                    KEPT / 1024
                ),
            });
        }
        self.written <= MOST
    }

    /// The events for the output since the last call. `last`: no more output will follow.
    pub(super) fn take(&mut self, last: bool) -> Vec<EventBody> {
        self.flush_stream(LogStream::Stdout, last);
        self.flush_stream(LogStream::Stderr, last);
        std::mem::take(&mut self.ready)
    }

    fn flush_stream(&mut self, stream: LogStream, last: bool) {
        let bytes = &mut self.pending[slot(stream)];
        let whole = if last {
            bytes.len()
        } else {
            whole_characters(bytes)
        };
        if whole == 0 {
            return;
        }
        let text = String::from_utf8_lossy(&bytes[..whole]).into_owned();
        bytes.drain(..whole);
        self.ready.push(EventBody::Log { stream, text });
    }
}

fn slot(stream: LogStream) -> usize {
    usize::from(stream == LogStream::Stderr)
}

fn other(stream: LogStream) -> LogStream {
    if stream == LogStream::Stderr {
        LogStream::Stdout
    } else {
        LogStream::Stderr
    }
}

/// Length without an incomplete character at the end.
fn whole_characters(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Ok(_) => bytes.len(),
        Err(error) if error.error_len().is_none() => error.valid_up_to(),
        Err(_) => bytes.len(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(events: &[EventBody], wanted: LogStream) -> String {
        let texts = events.iter().filter_map(|event| match event {
            EventBody::Log { stream, text } if *stream == wanted => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    #[test]
    fn characters_split_between_reads_are_joined() {
        let mut output = Output::default();
        let snowman = "☃".as_bytes();
        output.push(LogStream::Stdout, &snowman[..1]);
        assert_eq!(text(&output.take(false), LogStream::Stdout), "");
        output.push(LogStream::Stdout, &snowman[1..]);
        assert_eq!(text(&output.take(false), LogStream::Stdout), "☃");
        output.push(LogStream::Stdout, &snowman[..1]);
        assert_eq!(text(&output.take(true), LogStream::Stdout), "\u{fffd}");
    }

    #[test]
    fn excessive_output_is_truncated_once_and_ends_the_job() {
        let mut output = Output::default();
        let mut events = Vec::new();
        let megabyte = vec![b'x'; 1024 * 1024];
        let mut accepted = 0;
        while output.push(LogStream::Stdout, &megabyte) {
            events.extend(output.take(false));
            accepted += 1;
        }
        assert_eq!(accepted, 16);
        assert_eq!(text(&events, LogStream::Stdout).len(), KEPT);
        assert_eq!(
            text(&events, LogStream::Runner)
                .matches("truncated")
                .count(),
            1
        );
    }

    #[test]
    fn order_of_streams_is_kept() {
        let mut output = Output::default();
        output.push(LogStream::Stdout, b"one ");
        output.push(LogStream::Stderr, b"two ");
        output.push(LogStream::Stdout, b"three");
        let all: Vec<String> = output
            .take(true)
            .into_iter()
            .filter_map(|event| match event {
                EventBody::Log { text, .. } => Some(text),
                _ => None,
            })
            .collect();
        assert_eq!(all, ["one ", "two ", "three"]);
    }
}
