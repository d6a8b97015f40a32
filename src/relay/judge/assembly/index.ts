export { setSeed } from './names'
export { left, prepare, read } from './read'
