const secretKeys = new Set(
  (
    'api_key apikey api-key token access_token refresh_token auth_token bearer password passwd pwd secret ' +
    'client_secret api_secret key private_key encryption_key authorization auth credential credentials ' +
    'session session_id sessionid jwt'
  ).split(' '),
)

const decoded = (key: string): string => {
  try {
    return decodeURIComponent(key.replaceAll('+', ' '))
  } catch {
    return key
  }
}

/** A request target for the log: values of query keys that look secret become `[REDACTED]`; the rest is unchanged. */
export const redactQuery = (target: string, isSecret: (key: string) => boolean = () => false): string => {
  const cut = target.indexOf('?')
  if (cut < 0) return target
  const pairs = target.slice(cut + 1).split('&')
  const shown = pairs.map(pair => {
    const equals = pair.indexOf('=')
    if (equals < 0) return pair
    const key = decoded(pair.slice(0, equals)).toLowerCase()
    return secretKeys.has(key) || isSecret(key) ? `${pair.slice(0, equals)}=[REDACTED]` : pair
  })
  return `${target.slice(0, cut)}?${shown.join('&')}`
}
