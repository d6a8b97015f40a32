import type { LockSetting } from './configuration.js'
import type * as Written from './generated/types.js'
import { pathFrom, type Source } from './source.js'

export const readLockSetting = (written: Written.Lock | undefined, source: Source): LockSetting | undefined => {
  if (written === undefined) return undefined
  if (typeof written === 'string') return { file: pathFrom(source, written), isFrozen: false, trustAccepted: false, actions: {} }
  const { file, frozen = false, trustAccepted = false, ...actions } = written
  return { file: pathFrom(source, file), isFrozen: frozen, trustAccepted, actions }
}
