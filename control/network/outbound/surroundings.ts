/** The network that this host is in, as the operator describes it: a proxy, and authorities that open TLS there. */
import { readFile } from 'node:fs/promises'
import { fail, messageOf } from '../../../shared/errors.ts'
import type { Config } from '../../base/config.ts'

/** The PEM of `HUTCH_CA_FILE`, '' when it is not set. Throws `invalid_argument` when it cannot be used. */
export const authoritiesIn = async (file: string): Promise<string> => {
  if (!file) return ''
  const refuse = (reason: string, cause?: unknown) =>
    fail('invalid_argument', { field: 'HUTCH_CA_FILE', reason }, cause)
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw refuse(messageOf(error), error)
  })
  if (!text.includes('-----BEGIN CERTIFICATE-----')) throw refuse(`${file} holds no certificate in PEM form`)
  return text
}

/** What sandboxes without an outbound policy are told; undefined where there is nothing to tell. */
export const surroundingsOf = async (config: Pick<Config, 'caFile' | 'sandboxProxy' | 'sandboxNoProxy'>) => {
  const { caFile, sandboxProxy: proxyUrl, sandboxNoProxy: noProxy } = config
  return caFile || proxyUrl ? { trusted: await authoritiesIn(caFile), proxyUrl, noProxy } : undefined
}
