/** Who is to be erased, as intake keeps it: keyed hashes of an address, one per organization. Empty for a single lead. */
export interface SubjectKey {
  kind: 'email' | 'phone';
  organization: string;
  /** Signed 64-bit integer as text. */
  key: string;
}

/** One lead, or a refused record without one, that belongs to a person who is to be erased. */
export interface SubjectLead {
  /** Of the lead, or of the refusal where nothing was accepted. */
  event_id: string;
  lead_ref: string | null;
  organization: string;
  source: string;
  /**
   * Keyed hash of the person that the lead was delivered under. Its first half (16 hex digits) where the lead is purged and its payload cannot be opened;
   * absent where nothing is left that says it.
   */
  person_key?: string;
  /** No other lead of the person is kept, so that what is known of the person as such goes too. */
  whole_person: boolean;
}

/** What intake keeps of a person, counted. */
export interface IntakePlaces {
  vault_revisions: number;
  rejected_records: number;
  search_keys: number;
  /** Corrections that were proposed and not approved. */
  pending_revisions: number;
  /** Deliveries that were announced with the person's keyed hash and that no owner has taken yet: they end `erased` there. */
  unclaimed: number;
}

/** Answer of POST /internal/v1/erasures:find. */
export interface SubjectAnswer {
  keys: SubjectKey[];
  leads: SubjectLead[];
  places: IntakePlaces;
  /** There are more than one erasure takes. */
  more: boolean;
}

/** Answer of POST /internal/v1/leads:erase at intake: what is left afterwards. */
export interface IntakeEraseAnswer {
  places: IntakePlaces;
  /** Leads that refused records among those asked for became meanwhile, and that were not asked for. Nothing of them is erased before they are. */
  leads?: SubjectLead[];
}

/** A record at a destination that a person has to delete there. */
export interface DestinationReference {
  destination: string;
  kind: string;
  ref: string;
}

/** Answer of POST /internal/v1/leads:erase at a service that owns deliveries: what is left afterwards. */
export interface OwnerEraseAnswer {
  places: {
    /** Neither sent nor given up: they end `erased`. */
    open: number;
    /** In flight or uncertain: they finish first. */
    unfinished: number;
    /** Rows that still hold the keyed hash of the person. */
    person_keys: number;
    /** What is known of the person's record at destinations. */
    contacts: number;
  };
  references: DestinationReference[];
}
