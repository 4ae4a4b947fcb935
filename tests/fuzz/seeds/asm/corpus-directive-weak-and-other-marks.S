// marks of other assemblers that change nothing here
    .weak optional
    .protected optional
    .internal optional
optional:
    nop
    .addrsig
    .addrsig_sym optional
