// The layout of the memory that TypeScript shares with the WebAssembly module. Both compile this file (its
// types are AssemblyScript's; to TypeScript each is a number), so that every number of the layout stands in
// one place. Offsets and sizes are in bytes; a word has four.

// Regions. Only the tape has no fixed place: it follows the text.

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
/** The first bytes of the member names of one small object. */
export const HEADS: usize = 0x80000
/** Tape indexes of the open containers, and of the models of their names (assembly/read.ts). */
export const OPEN: usize = 0x90000
export const MAX_OPEN: i32 = 0x1000
/** The text. PADDING zero bytes follow it, where no token continues, so most loops need not check its end. */
export const TEXT: usize = 0xa0000
export const PADDING: i32 = 64

// FOUND: a word for each, then the lists.

/** 1 when no string of the text holds a character that may hide text. */
export const PLAIN: usize = 0
/** Tape index of structuredContent, or 0; then where its text begins and ends. */
export const STRUCTURED: usize = 4
export const STRUCTURED_START: usize = 8
export const STRUCTURED_END: usize = 12
export const REPEAT_COUNT: usize = 16
export const STRING_COUNT: usize = 20
/** Blocks of content, by index, whose text repeats structuredContent. */
export const REPEATS: usize = 24
export const MAX_REPEATS: u32 = 8
/** Long strings in the first blocks of content: the block, which member (below), start, end, and traits. */
export const STRINGS: usize = 56
export const STRING_BYTES: usize = 20
export const MAX_BLOCKS: u32 = 8
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

// Verdicts of a check.

export const INVALID: i32 = 0
export const VALID: i32 = 1
export const UNKNOWN: i32 = 2

// TABLE: the first word is the place of the root schema. Places count from the beginning of the table; 0 is
// none, or a schema that allows everything.

/** Types of values, a bit each. An integer is a number as well. */
export const NULL: u32 = 1
export const BOOLEAN: u32 = 2
export const NUMBER: u32 = 4
export const INTEGER: u32 = 8
export const STRING: u32 = 16
export const ARRAY: u32 = 32
export const OBJECT: u32 = 64
export const ALL_TYPES: u32 = 127

/** A schema: the allowed types, the types that the table does not cover fully, and its rules' places. */
export const TYPES: usize = 0
export const UNSUPPORTED: usize = 4
export const NUMBER_RULES: usize = 8
export const STRING_RULES: usize = 12
export const ARRAY_RULES: usize = 16
export const OBJECT_RULES: usize = 20
export const LISTED_VALUES: usize = 24
export const COMBINATIONS: usize = 28
export const SCHEMA_BYTES: usize = 32

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
 * An automaton: its first state, 4 * (1 + the class) for each byte in two bytes, and a row for each state:
 * the verdict on a text that ends there, and for each class where the next row begins, counted from ROWS.
 */
export const FIRST_STATE: usize = 0
export const BYTE_CLASSES: usize = 4
export const ROWS: usize = 516

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
/** A declared member. */
export const NAME: usize = 0
export const NAME_LENGTH: usize = 4
export const IS_REQUIRED: usize = 8
export const MEMBER_SCHEMA: usize = 12
export const MEMBER_BYTES: usize = 16

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
