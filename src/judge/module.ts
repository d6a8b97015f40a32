import { code } from './generated/code.js'

/** What the compiled module offers (src/judge/assembly). An entry is the place of a token on its tape; 0 is none. */
export interface Module {
  readonly memory: { readonly buffer: ArrayBuffer }
  readonly HIDDEN: Constant
  readonly NAMES: Constant
  readonly TABLE: Constant
  setSeed(seed: bigint): void
  prepare(length: number): number
  read(length: number, depth: number): number
  isPlain(): number
  root(): number
  elementOf(array: number, index: number): number
  memberOf(object: number, name: number, length: number): number
  startOf(entry: number): number
  endOf(entry: number): number
  check(entry: number, steps: number): number
  left(): number
  isExact(): number
  nextRepeat(content: number, value: number, from: number, name: number, length: number): number
}

interface Constant {
  readonly value: number
}

let compiled: WebAssembly.Module | undefined

/** Compiled at the first use, in about a millisecond. */
export const instantiate = (): Module => {
  compiled ??= new WebAssembly.Module(Buffer.from(code, 'base64'))
  return new WebAssembly.Instance(compiled).exports as unknown as Module
}
