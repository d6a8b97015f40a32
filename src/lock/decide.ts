import type { ChangeClass, Difference } from './compare.js'

export type LockAction = 'log' | 'block'

/** What is done about a change of each class. */
export type LockActions = Readonly<Record<ChangeClass, LockAction>>

/**
 * What a model reads, and what widens what can be sent, is blocked; the rest is recorded. Where a change is only recorded the
 * accepted definition goes on being shown, so a promise that was taken back would go on being shown as well: that is blocked.
 */
export const standardActions: LockActions = {
  command: 'block',
  version: 'log',
  serverInfo: 'block',
  instructions: 'block',
  added: 'block',
  removed: 'log',
  renamed: 'block',
  text: 'block',
  inputSchema: 'block',
  // Results are still held to the one that was accepted.
  outputSchema: 'log',
  annotationsWeakened: 'block',
  annotationsStrengthened: 'log',
  icons: 'log',
  meta: 'log',
  other: 'log',
  prompts: 'block',
  resources: 'block',
  resourceTemplates: 'block',
}

/** What differs, and what is to be done about all of it together. */
export interface Decision {
  readonly action: 'pass' | LockAction
  /** Each once, those of action block first. */
  readonly classes: readonly ChangeClass[]
}

/** @param changes of one thing, or of everything, as the comparison found them */
export const decide = (changes: readonly Pick<Difference, 'class'>[], actions: LockActions): Decision => {
  const classes = [...new Set(changes.map(change => change.class))]
  const blocked = classes.filter(kind => actions[kind] === 'block')
  const logged = classes.filter(kind => actions[kind] === 'log')
  return { action: blocked.length > 0 ? 'block' : logged.length > 0 ? 'log' : 'pass', classes: [...blocked, ...logged] }
}
