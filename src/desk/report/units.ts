/** A duration in its largest unit: `0.25 ms`, `12.3 ms`, `1.2 s`, `5 min`. @param ms milliseconds */
export const duration = (ms: number): string => {
  if (ms < 1000) return `${digits(ms)} ms`
  if (ms < 60_000) return `${digits(ms / 1000)} s`
  if (ms < 3_600_000) return `${digits(ms / 60_000)} min`
  return ms < 86_400_000 ? `${digits(ms / 3_600_000)} h` : `${digits(ms / 86_400_000)} d`
}

/** A number of bytes, in powers of 1000: `456 B`, `2.5 kB`. */
export const sizeText = (bytes: number): string => {
  const power = bytes < 1000 ? 0 : Math.min(4, Math.floor(Math.log10(bytes) / 3))
  const unit = ['B', 'kB', 'MB', 'GB', 'TB'][power] ?? ''
  return `${power === 0 ? Math.round(bytes) : digits(bytes / 1000 ** power)} ${unit}`
}

export const countText = (number: number, noun: string): string =>
  `${wholeNumber(number)} ${noun}${number === 1 ? '' : 's'}`

export const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, number) => sum + number, 0)

/** `1,234,567` */
export const wholeNumber = (number: number): string => number.toLocaleString('en-US')

/** Three significant digits; below 1, two decimals. */
const digits = (number: number): string =>
  String(Number(number.toFixed(number < 9.995 ? 2 : number < 99.95 ? 1 : 0)))

const two = (number: number): string => String(number).padStart(2, '0')

/** In the local zone: `2026-11-21`. @param time milliseconds since 1970 */
export const dayOf = (time: number): string => {
  const date = new Date(time)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`
}

/** In the local zone: `22:22:13`. @param time milliseconds since 1970 */
export const clockOf = (time: number): string => {
  const date = new Date(time)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}
