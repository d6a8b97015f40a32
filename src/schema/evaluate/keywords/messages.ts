export const sizeMessage = (name: string, most: boolean, limit: number, noun: string): string =>
  `must have at ${most ? 'most' : 'least'} ${limit} ${noun}${limit === 1 ? '' : 's'} (${name})`
