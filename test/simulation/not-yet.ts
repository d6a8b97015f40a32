/**
 * What the program does not keep yet, with the defect: an invariant, or one history. `--strict` finds it
 * too.
 */
const notYet: ReadonlyMap<string, string> = new Map([
  ['owned sessions', 'M1: the response to initialize is with the operating system when the client leaves'],
  ['gateway 1250', 'a subscription stays open at the server when its client left while a relay process was late'],
])

export const isNotYet = (world: string, seed: number, invariant: string): boolean =>
  notYet.has(invariant) || notYet.has(`${world} ${seed}`)
