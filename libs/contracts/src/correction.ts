/** Answer of POST /internal/v1/vault:propose. `fields`: names of what differs. */
export type ProposeAnswer =
  | { result: 'proposed'; revision: number; fields: string[] }
  | { result: 'invalid'; errors: { field: string; problem: string; fix: string }[] }
  | { result: 'unchanged' | 'gone' | 'unknown_source' };

/** Answer of POST /internal/v1/vault:activate. `stale`: the lead has been corrected otherwise meanwhile. */
export interface ActivateAnswer {
  result: 'active' | 'stale' | 'gone';
}
