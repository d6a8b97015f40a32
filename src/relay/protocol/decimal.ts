/**
 * One spelling for each number, whatever its length: digits without leading or trailing zeros and an
 * exponent, or an integer with all its digits. Literals stay as they are.
 */
export const decimal = (token: string): string => {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,15}))?$/.exec(token) ?? []
  if (whole === '') return token
  const all = (whole + fraction).replace(/^0+/, '')
  let length = all.length
  while (all[length - 1] === '0') length--
  if (length === 0) return '0'
  const power = Number(exponent) - fraction.length + all.length - length
  const digits = sign + all.slice(0, length)
  return power >= 0 && power <= 30 ? digits + '0'.repeat(power) : `${digits}e${power}`
}
