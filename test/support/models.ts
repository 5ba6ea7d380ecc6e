/** A host whose models lead to providers of a test. */
import type { Test } from 'tap'
import { testHost, type HostOptions, type TestHost } from './whole-host.ts'

export interface ModelHost extends TestHost {
  readonly url: string
  readonly key: string
  /** Makes a connection and a model of it, both of that name; answers the model's address. */
  model(
    name: string,
    made: { baseUrl: string; secret?: Record<string, string>; config?: object; spec?: object },
  ): Promise<string>
  connect(name: string, spec: object): Promise<void>
  /** What `GET /models/{name}/usage` says. */
  usage(name: string, query?: string): Promise<{ summary: Record<string, number>; data: Record<string, unknown>[] }>
  /** Polls until a model has a status; answers its record. */
  settled(name: string, status: string): Promise<Record<string, unknown>>
}

export const secretKey = 'sk-provider-hush-0123456789'

export const modelHost = async (
  t: Test,
  providers: readonly string[],
  options: HostOptions = {},
): Promise<ModelHost> => {
  const made = await testHost(t, { ...options, config: { providers, ...options.config } })
  const { api, host } = made
  const { url } = await host.listen()
  const need = async (method: string, target: string, body: unknown) => {
    const answer = await api(method, target, body)
    if (answer.status !== 200) throw new Error(`${method} ${target} answered ${answer.status}: ${answer.text}`)
  }
  const connect = async (name: string, spec: object) => {
    const known = await api('GET', `/integrations/connections/${name}`)
    if (known.status === 200) return need('PUT', `/integrations/connections/${name}`, { spec })
    return need('POST', '/integrations/connections', { metadata: { name }, spec })
  }
  return {
    ...made,
    url,
    key: host.first.adminKey ?? '',
    connect,
    async model(name, { baseUrl, secret = { apiKey: secretKey }, config = {}, spec = {} }) {
      await connect(name, { integration: 'openai', secret, config: { baseUrl, ...config } })
      await need('POST', '/models', {
        metadata: { name },
        spec: { integrationConnections: [name], runtime: { type: 'openai', model: 'm' }, ...spec },
      })
      return `${url}/default/models/${name}`
    },
    async usage(name, query = '') {
      return (await api('GET', `/models/${name}/usage${query}`)).body
    },
    async settled(name, status) {
      for (const end = performance.now() + 20_000; ; ) {
        const { body } = await api('GET', `/models/${name}`)
        if (body.status === status) return body
        if (performance.now() > end) throw new Error(`model ${name} is ${JSON.stringify(body)}`)
        await new Promise(resolve => setTimeout(resolve, 10))
      }
    },
  }
}
