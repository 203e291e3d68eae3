# An SMSC of Perl's Net::SMPP. Prints its port, and then each PDU as a line of JSON with texts in hexadecimal. Accepts every message, and
# delivers a receipt for it.
use strict;
use warnings;
use JSON::PP;
use Net::SMPP;

$| = 1;
my $listener = Net::SMPP->new_listen('127.0.0.1', port => 0, smpp_version => 0x34) or die "listen: $!";
print $listener->sockport, "\n";
my $client = $listener->accept or die "accept: $!";
my %names = map { $_ => Net::SMPP::pdu_tab->{$_}{cmd} } keys %{ Net::SMPP::pdu_tab() };
my $count = 0;

while (my $pdu = $client->read_pdu()) {
  my $name = $names{ $pdu->{cmd} } // 'unknown';
  my %shown = map { $_ => unpack('H*', $pdu->{$_} // '') } grep { $_ ne 'data' } keys %$pdu;
  print JSON::PP->new->canonical->encode({ %shown, command => $name }), "\n";
  my $seq = $pdu->{seq};
  if ($name eq 'bind_transceiver') { $client->bind_transceiver_resp(system_id => 'perl', seq => $seq); }
  elsif ($name eq 'enquire_link') { $client->enquire_link_resp(seq => $seq); }
  elsif ($name eq 'unbind') { $client->unbind_resp(seq => $seq); last; }
  elsif ($name eq 'submit_sm') {
    my $id = 'perl-' . ++$count;
    $client->submit_sm_resp(message_id => $id, seq => $seq);
    $client->deliver_sm(
      async => 1,
      source_addr_ton => 1, source_addr_npi => 1, source_addr => $pdu->{destination_addr},
      dest_addr_ton => 5, dest_addr_npi => 0, destination_addr => $pdu->{source_addr},
      esm_class => 0x04,
      short_message => "id:$id sub:001 dlvrd:001 submit date:2611151200 done date:2611151201 stat:DELIVRD err:000 text:",
    );
  }
}
