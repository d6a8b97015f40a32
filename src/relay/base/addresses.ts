import { BlockList, isIP } from 'node:net'

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

const listOf = (subnets: readonly (readonly [address: string, prefix: number])[]): BlockList => {
  const list = new BlockList()
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, familyOf(address))
  return list
}

const loopback = listOf([['127.0.0.0', 8], ['::1', 128], ['::ffff:127.0.0.0', 104]])

/** Addresses that are not of the internet (IANA special-purpose registries), also inside IPv6 addresses. */
const privateAddresses = listOf([
  ['0.0.0.0', 8], ['10.0.0.0', 8], ['100.64.0.0', 10], ['127.0.0.0', 8], ['169.254.0.0', 16],
  ['172.16.0.0', 12], ['192.0.0.0', 24], ['192.168.0.0', 16], ['198.18.0.0', 15], ['224.0.0.0', 3],
  ['::', 96], ['64:ff9b::', 96], ['64:ff9b:1::', 48], ['100::', 64], ['2002::', 16], ['fc00::', 7],
  ['fe80::', 10], ['fec0::', 10], ['ff00::', 8],
])

/** A URL has IPv6 addresses in brackets. */
export const withoutBrackets = (hostname: string): string => hostname.replace(/^\[|\]$/g, '')

/** The name in a Host header, in lower case, without its port. */
export const hostName = (header: string): string | undefined =>
  /^(\[[0-9a-f:.]+\]|[^\s:[\]/@,]+)(?::\d{1,5})?$/i.exec(header)?.[1]?.toLowerCase()

/** Whether the name in a Host header is an IP address. */
export const isAddress = (name: string): boolean =>
  name.startsWith('[') || /^\d{1,3}(?:\.\d{1,3}){3}$/.test(name)

/** @param hostname of a URL, or an address. Other names than `localhost` are not looked up */
export const isLoopback = (hostname: string): boolean => {
  const host = withoutBrackets(hostname)
  return host === 'localhost' || (isIP(host) > 0 && loopback.check(host, familyOf(host)))
}

/** Whether this is a private address, or `localhost`. Other names are not looked up. */
export const isPrivate = (hostname: string): boolean => {
  const host = withoutBrackets(hostname)
  return host === 'localhost' || (isIP(host) > 0 && privateAddresses.check(host, familyOf(host)))
}
