// What can be said of a value, and what may be done to find it out.

export const INVALID: i32 = 0
export const VALID: i32 = 1
export const UNKNOWN: i32 = 2

export const NULL: u32 = 1
export const BOOLEAN: u32 = 2
export const NUMBER: u32 = 4
export const INTEGER: u32 = 8
export const STRING: u32 = 16
export const ARRAY: u32 = 32
export const OBJECT: u32 = 64

let allowed: i32 = 0

export function allow(steps: i32): void {
  allowed = steps
}

/** Steps that nobody took; less than 0 when there were too few. */
export function left(): i32 {
  return allowed
}

/** @returns false when there are fewer left */
// @ts-ignore: decorator
@inline
export function spend(steps: i32): bool {
  allowed -= steps
  return allowed >= 0
}
