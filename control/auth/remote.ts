import type { Request } from '../../shared/route.ts'

/**
 * Who is at the other end, to count attempts by and to write down: behind a proxy on this machine that is whom the proxy
 * names last. Programs elsewhere cannot say so themselves.
 */
export const remoteOf = ({ remote, headers }: Pick<Request, 'remote' | 'headers'>): string => {
  if (!/^(::1|(::ffff:)?127\.)/.test(remote)) return remote
  const named = String(headers['x-forwarded-for'] ?? '')
    .split(',')
    .at(-1)
    ?.trim()
  return named || remote
}
