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

let left: i32 = 0

export function allow(steps: i32): void {
  left = steps
}

/** @returns false when there are fewer left */
// @ts-ignore: decorator
@inline
export function spend(steps: i32): bool {
  left -= steps
  return left >= 0
}
