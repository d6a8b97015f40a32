import { code } from './generated/code.js'

/** The exports of assembly/index.ts. A tape index is the address of a token's entry; 0 is none. */
export interface Module {
  readonly memory: { readonly buffer: ArrayBuffer }
  setSeed(seed: bigint): void
  prepare(length: number): number
  read(length: number, depth: number): number
  findResult(root: number): void
  check(value: number, steps: number): number
  left(): number
}

let compiled: WebAssembly.Module | undefined

/** Compiled at the first use, in about a millisecond. */
export const instantiate = (): Module => {
  compiled ??= new WebAssembly.Module(Buffer.from(code, 'base64'))
  return new WebAssembly.Instance(compiled).exports as unknown as Module
}
