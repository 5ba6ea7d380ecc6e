/** Clients that nobody registered: the command lines that the contract names, service accounts, and machines of workloads. */
import type { AdapterPayload } from 'oidc-provider'
import { grantHash } from '../../../../core/access/grants.ts'
import type { Store } from '../../../../core/store/store.ts'

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'

/** Where programs on the user's own machine listen for the answer; any port. */
const loopback = ['127.0.0.1', 'localhost'].flatMap(host => [`http://${host}/callback`, `http://${host}/`])

const commandLine = (id: string): AdapterPayload => ({
  client_id: id,
  client_name: `the command line (${id})`,
  application_type: 'native',
  token_endpoint_auth_method: 'none',
  grant_types: ['authorization_code', 'refresh_token', deviceGrant],
  response_types: ['code'],
  redirect_uris: loopback,
})

/** `names` are those of the public client; `machineSecret` gives the hashed secret of a client that is a machine. */
export const clientsFrom =
  (
    names: readonly string[],
    { tenants, resources }: Pick<Store, 'tenants' | 'resources'>,
    machineSecret: (id: string) => Promise<string | undefined> = async () => undefined,
  ) =>
  async (id: string): Promise<AdapterPayload | undefined> => {
    if (names.includes(id)) return commandLine(id)
    const grant = await tenants.apiKeyByHash(grantHash.client(id))
    const account = grant?.owner && (await resources.getByUid(grant.owner))
    const secret = (await machineSecret(id)) ?? (account ? account.spec['secretHash'] : undefined)
    if (typeof secret !== 'string') return undefined
    return {
      client_id: id,
      client_secret: secret,
      token_endpoint_auth_method: 'client_secret_basic',
      grant_types: ['client_credentials'],
      response_types: [],
      redirect_uris: [],
    }
  }
