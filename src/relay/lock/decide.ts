import type { ChangeClass, Difference } from './comparison.js'

export type LockAction = 'log' | 'block'

/** The action for a change of each class. */
export type LockActions = Readonly<Record<ChangeClass, LockAction>>

/**
 * Changes are blocked if they change texts that a model reads, or allow more to be sent; others are logged.
 * After a logged change the client still sees the accepted definition. Weakened annotations are blocked,
 * because the client would still see a promise that the server has withdrawn.
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
  // Results are still validated against the accepted schema.
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

/** The classes of all changes, and the severest action among them. */
export interface Decision {
  readonly action: 'pass' | LockAction
  /** Each once, those of action block first. */
  readonly classes: readonly ChangeClass[]
}

/** @param changes of one definition or of a whole server */
export const decide = (changes: readonly Pick<Difference, 'class'>[], actions: LockActions): Decision => {
  const classes = [...new Set(changes.map(change => change.class))]
  const blocked = classes.filter(kind => actions[kind] === 'block')
  const logged = classes.filter(kind => actions[kind] === 'log')
  return {
    action: blocked.length > 0 ? 'block' : logged.length > 0 ? 'log' : 'pass',
    classes: [...blocked, ...logged],
  }
}
