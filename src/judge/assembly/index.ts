export { check } from './check'
export { HIDDEN, NAMES, TABLE } from './memory'
export { endOf, isPlain, memberOf, prepare, read, root, setSeed, startOf } from './read'
export { nextRepeat } from './repeat'
