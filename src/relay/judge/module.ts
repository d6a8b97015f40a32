import { code } from './generated/code.js'

/** The exports of assembly/index.ts. */
export interface Module {
  readonly memory: { readonly buffer: ArrayBuffer }
  setSeed(seed: bigint): void
  prepare(length: number): number
  read(length: number, depth: number, steps: number, isMessage: boolean): number
  left(): number
}

let compiled: WebAssembly.Module | undefined

/** Compiled at the first use, in about a millisecond. */
export const instantiate = (): Module => {
  compiled ??= new WebAssembly.Module(Buffer.from(code, 'base64'))
  return new WebAssembly.Instance(compiled).exports as unknown as Module
}
