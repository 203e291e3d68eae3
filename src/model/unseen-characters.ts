/** Characters that a text for people must not have: control characters, and those that change lines or the direction of the text. Written as the
 *  inside of a character class of a regular expression. */
export const UNSEEN = "\\u0000-\\u001f\\u007f-\\u009f\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069";
