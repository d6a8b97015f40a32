/** Where the metadata of a protected resource is, before the path of its URL (RFC 9728, section 3.1). */
export const resourcePath = '/.well-known/oauth-protected-resource'

/** Where the metadata of an authorization server is (RFC 8414, section 3.1). */
export const issuerPath = '/.well-known/oauth-authorization-server'

const openidPath = '/.well-known/openid-configuration'

/** Where an issuer's metadata may be (2026-07-28, authorization server discovery, for the order). */
export const metadataUrls = ({ origin, pathname }: URL): readonly URL[] => {
  const path = pathname.replace(/\/$/, '')
  const paths = path === ''
    ? [issuerPath, openidPath] : [issuerPath + path, openidPath + path, path + openidPath]
  return paths.map(one => new URL(one, origin))
}
