import { compatible } from './compatible.ts'
import { keyForm } from './provider.ts'

/** A model that anybody may use at its address: no credential is needed, and one is sent where there is one. */
export const publicModel = compatible({
  type: 'public_model',
  label: 'A public model',
  form: keyForm([], false),
  verified: 'client',
})
