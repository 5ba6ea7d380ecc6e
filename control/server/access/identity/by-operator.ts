/** What the audit says of what somebody does who has the data directory. */
import type { AuditedBy, AuditEntry } from '../../../core/store/store.ts'

export const operatorBy: AuditedBy = { actor: 'operator', credential: '', remote: '', requestId: '' }

export const accountEntry = (action: string, account: string): AuditEntry => ({
  ...operatorBy,
  account,
  workspace: '',
  action,
  kind: 'account',
  name: account,
  uid: account,
  detail: {},
})
