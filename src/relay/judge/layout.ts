// The layout of the memory that TypeScript shares with the WebAssembly module. Both compile this file (its
// types are AssemblyScript's; to TypeScript each is a number), so that every number of the layout stands in
// one place. Offsets and sizes are in bytes; a word has four.

// Regions.

/** A bit for each code point below U+10000, and for each 256 above: 1 where a character may hide text. */
export const HIDDEN: usize = 0x10000
/** What was found in a tool's result. */
export const FOUND: usize = 0x14000
/** The table of the schema that a value is checked by. */
export const TABLE: usize = 0x20000
export const TABLE_BYTES: usize = 0x30000
/** Hash table for the member names of one large object. */
export const MEMBERS: usize = 0x60000
export const MEMBER_SLOTS: u32 = 0x4000
/** The member names of the open objects. */
export const NAMES: usize = 0x80000
export const NAMES_BYTES: usize = 0x20000
/** The text. PADDING zero bytes follow it, where no token continues, so most loops need not check its end. */
export const TEXT: usize = 0xa0000
export const PADDING: i32 = 64

// FOUND: a word for each, then the lists.

/** 1 when no string of the text holds a character that may hide text. */
export const PLAIN: usize = 0
/** Where the text of structuredContent begins, or 0, and where it ends. */
export const STRUCTURED_START: usize = 4
export const STRUCTURED_END: usize = 8
export const REPEAT_COUNT: usize = 12
export const STRING_COUNT: usize = 16
/** The first blocks of content are looked at. */
export const MAX_BLOCKS: u32 = 8
/** Blocks, by index, whose text repeats structuredContent. */
export const REPEATS: usize = 20
/** Long strings in the blocks: the block, which member (below), start, end, and traits. */
export const STRINGS: usize = 52
export const STRING_BYTES: usize = 20
/** Strings of the blocks that may be long or repeat structuredContent, up to 4 in a block: without traits. */
export const CANDIDATES: usize = 1024
export const CANDIDATES_BYTES: usize = 512
export const CANDIDATE_BYTES: usize = 16
/** Shorter strings are not listed. */
export const LONG_BYTES: u32 = 0x4000
/** The members of a block that may be long strings. */
export const BLOCK_TEXT: u32 = 0
export const BLOCK_DATA: u32 = 1
export const RESOURCE_TEXT: u32 = 2
export const RESOURCE_BLOB: u32 = 3
/** Traits of a long string, a bit each: it is structuredContent's very text; data or a blob is base64. */
export const STRUCTURED_TEXT: u32 = 1
export const BASE64: u32 = 2

// Verdicts of a check, and the answer to a text that may not be JSON, or is ambiguous.

export const INVALID: i32 = 0
export const VALID: i32 = 1
export const UNKNOWN: i32 = 2
export const UNREADABLE: i32 = 3

// TABLE: begins with a schema that allows everything; then the place of the root schema. Places count from
// the beginning of the table; 0 is that first schema, or none.

/** Types of values, a bit each. An integer is a number as well. */
export const NULL: u32 = 1
export const BOOLEAN: u32 = 2
export const NUMBER: u32 = 4
export const INTEGER: u32 = 8
export const STRING: u32 = 16
export const ARRAY: u32 = 32
export const OBJECT: u32 = 64
export const ALL_TYPES: u32 = 127

/**
 * A schema: the allowed types; 1 when the scalars that it allows are fully covered by types, rules and
 * listed values; the types that the table does not cover fully; the places of its rules; and that of its only
 * combination where the schema is nothing but an anyOf or oneOf.
 */
export const TYPES: usize = 0
export const IS_SIMPLE: usize = 4
export const UNSUPPORTED: usize = 8
export const NUMBER_RULES: usize = 12
export const STRING_RULES: usize = 16
export const ARRAY_RULES: usize = 20
export const OBJECT_RULES: usize = 24
export const LISTED_VALUES: usize = 28
export const COMBINATIONS: usize = 32
export const CHOICE: usize = 36
export const SCHEMA_BYTES: usize = 40
export const ROOT: usize = 40

/** Rules for numbers, as doubles. A MULTIPLE_OF of 0 is none. */
export const MINIMUM: usize = 0
export const MAXIMUM: usize = 8
export const EXCLUSIVE_MINIMUM: usize = 16
export const EXCLUSIVE_MAXIMUM: usize = 24
export const MULTIPLE_OF: usize = 32

/** Rules for strings. FORMAT and PATTERN are places of automata, or UNKNOWN_PATTERN. */
export const MIN_LENGTH: usize = 0
export const MAX_LENGTH: usize = 4
export const FORMAT: usize = 8
export const PATTERN: usize = 12
export const UNKNOWN_PATTERN: u32 = 1

/**
 * An automaton: its first state; 4 * (1 + the class) for each byte in two bytes; where its queue ends, or 0;
 * the queue, with the place of each text and of the byte behind it; and a row for each state: the verdict on
 * a text that ends there, and for each class where the next row begins, counted from ROWS.
 */
export const FIRST_STATE: usize = 0
export const BYTE_CLASSES: usize = 4
export const QUEUE_END: usize = 516
export const QUEUE: usize = 520
export const QUEUE_BYTES: usize = 32
export const ROWS: usize = 552

/** Rules for arrays: ITEMS is the schema of the items behind the first PREFIX_COUNT, which have their own. */
export const MIN_ITEMS: usize = 0
export const MAX_ITEMS: usize = 4
export const ITEMS: usize = 8
export const PREFIX_COUNT: usize = 12
export const PREFIX_ITEMS: usize = 16

/** Rules for objects: ADDITIONAL is the schema of the members that are not declared. */
export const MIN_PROPERTIES: usize = 0
export const MAX_PROPERTIES: usize = 4
export const REQUIRED_COUNT: usize = 8
export const ADDITIONAL: usize = 12
export const DECLARED_COUNT: usize = 16
export const DECLARED: usize = 20
/**
 * A declared member. A quotation mark and a colon follow its name. TOKEN_LENGTH counts them; it is 0 where
 * the name has a character that is no letter, digit or other printing character of ASCII, or needs an escape.
 */
export const NAME: usize = 0
export const NAME_LENGTH: usize = 4
export const TOKEN_LENGTH: usize = 8
export const IS_REQUIRED: usize = 12
export const MEMBER_SCHEMA: usize = 16
export const MEMBER_BYTES: usize = 20

/** Listed values: how many, and of each its type, and a text, the first byte of a literal, or a double. */
export const VALUE_COUNT: usize = 0
export const VALUES: usize = 8
export const VALUE_TYPE: usize = 0
export const VALUE: usize = 8
export const VALUE_LENGTH: usize = 12
export const VALUE_BYTES: usize = 16

/** Combinations: how many, and of each its kind, how many schemas, and those. */
export const COMBINATION_COUNT: usize = 0
export const FIRST_COMBINATION: usize = 4
export const KIND: usize = 0
export const SCHEMA_COUNT: usize = 4
export const SCHEMAS: usize = 8
export const ALL_OF: u32 = 1
export const ANY_OF: u32 = 2
export const ONE_OF: u32 = 3
export const NOT: u32 = 4
