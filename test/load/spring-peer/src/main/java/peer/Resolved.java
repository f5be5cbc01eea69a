package peer;

/** A lead that the CRM has, and its name there. */
record Resolved(Lead lead, String crmRef) {}
