//! The tokens of Python.

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Token {
    /// The end of a logical line, after its comment.
    Newline,
    Indent,
    /// The end of a block, after its last comment.
    Dedent,
    /// The end of the source.
    End,
    Name,
    Integer,
    Float,
    /// A string without replacement fields.
    Text,
    /// Prefix and quotes of an f-string.
    FormatStart,
    /// Text between the replacement fields of an f-string.
    FormatText,
    FieldStart,
    /// `!r` in a replacement field.
    Conversion,
    /// The `:` before a format specification.
    SpecificationStart,
    FieldEnd,
    FormatEnd,
    OpenParenthesis,
    CloseParenthesis,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Comma,
    Colon,
    ColonEqual,
    Semicolon,
    Dot,
    Ellipsis,
    Arrow,
    At,
    Assign,
    /// `+=` and the other operators with an assignment.
    AugmentedAssign,
    Plus,
    Minus,
    Times,
    Power,
    Slash,
    DoubleSlash,
    Percent,
    Pipe,
    Ampersand,
    Caret,
    ShiftLeft,
    ShiftRight,
    Tilde,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    And,
    As,
    Assert,
    Async,
    Await,
    Break,
    Class,
    Continue,
    Def,
    Del,
    Elif,
    Else,
    Except,
    False,
    Finally,
    For,
    From,
    Global,
    If,
    Import,
    In,
    Is,
    Lambda,
    None,
    Nonlocal,
    Not,
    Or,
    Pass,
    Raise,
    Return,
    True,
    Try,
    While,
    With,
    Yield,
}

impl Token {
    /// A keyword, or a name.
    pub(super) fn of_word(word: &[u8]) -> Token {
        match word {
            b"and" => Token::And,
            b"as" => Token::As,
            b"assert" => Token::Assert,
            b"async" => Token::Async,
            b"await" => Token::Await,
            b"break" => Token::Break,
            b"class" => Token::Class,
            b"continue" => Token::Continue,
            b"def" => Token::Def,
            b"del" => Token::Del,
            b"elif" => Token::Elif,
            b"else" => Token::Else,
            b"except" => Token::Except,
            b"False" => Token::False,
            b"finally" => Token::Finally,
            b"for" => Token::For,
            b"from" => Token::From,
            b"global" => Token::Global,
            b"if" => Token::If,
            b"import" => Token::Import,
            b"in" => Token::In,
            b"is" => Token::Is,
            b"lambda" => Token::Lambda,
            b"None" => Token::None,
            b"nonlocal" => Token::Nonlocal,
            b"not" => Token::Not,
            b"or" => Token::Or,
            b"pass" => Token::Pass,
            b"raise" => Token::Raise,
            b"return" => Token::Return,
            b"True" => Token::True,
            b"try" => Token::Try,
            b"while" => Token::While,
            b"with" => Token::With,
            b"yield" => Token::Yield,
            _ => Token::Name,
        }
    }

    /// True if an expression can begin with this token.
    pub(super) fn begins_expression(self) -> bool {
        matches!(
            self,
            Token::Name
                | Token::Integer
                | Token::Float
                | Token::Text
                | Token::FormatStart
                | Token::OpenParenthesis
                | Token::OpenBracket
                | Token::OpenBrace
                | Token::Ellipsis
                | Token::Plus
                | Token::Minus
                | Token::Times
                | Token::Tilde
                | Token::Not
                | Token::Lambda
                | Token::Await
                | Token::True
                | Token::False
                | Token::None
        )
    }
}

/// A token with its range, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spanned {
    pub(super) token: Token,
    pub(super) start: u32,
    pub(super) end: u32,
}
